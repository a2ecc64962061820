# modules: bt
# with: Tests/Kernel/bluetooth.sh=/easim/bluetooth.sh
# with: Tests/Kernel/bus.conf=/easim/bus.conf
# with: /usr/bin/dbus-daemon=/usr/bin/dbus-daemon
# with: /usr/bin/dbus-send=/usr/bin/dbus-send
# with: /usr/bin/btvirt=/usr/bin/btvirt
# with: /usr/libexec/bluetooth/bluetoothd=/usr/libexec/bluetooth/bluetoothd
# An accessory that dials its host, and both dialling at once: one connection is left, and it works.
. /easim/lib.sh
. /easim/bluetooth.sh
start_bluetooth
start_accessory bt:hci1
pair_machines
kill -INT "$run"
wait "$run" || fail "run ended with $?"

easim run echo --on "bt:hci1,dial=$host" >/tmp/accessory.log 2>&1 &
run=$!
# The host is there for the accessory to dial, and dials as well.
for i in 1 2 3; do
  easim send "bt:hci0#$accessory" --10k --expect echo --timeout 30s >/tmp/send 2>&1 ||
    fail "send $i: $(cat /tmp/send /tmp/accessory.log)"
  [ "$(grep -c '● connect' /tmp/send)" = 1 ] || fail "one connect: $(cat /tmp/send)"
done
kill -INT "$run"
wait "$run" || fail "run ended with $?: $(cat /tmp/accessory.log)"
