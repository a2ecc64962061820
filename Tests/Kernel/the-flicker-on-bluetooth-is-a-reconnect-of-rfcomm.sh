# modules: bt
# with: Tests/Kernel/bluetooth.sh=/easim/bluetooth.sh
# with: Tests/Kernel/bus.conf=/easim/bus.conf
# with: /usr/bin/dbus-daemon=/usr/bin/dbus-daemon
# with: /usr/bin/dbus-send=/usr/bin/dbus-send
# with: /usr/bin/btvirt=/usr/bin/btvirt
# with: /usr/libexec/bluetooth/bluetoothd=/usr/libexec/bluetooth/bluetoothd
# The flicker on Bluetooth: the bond stays, and RFCOMM is disconnected and connected again. The scenario of it, too.
. /easim/lib.sh
. /easim/bluetooth.sh
start_bluetooth
start_accessory bt:hci1 --quirk flicker
pair_machines
easim send bt:hci0 --10k --expect echo >/tmp/send 2>&1 || fail "send: $(cat /tmp/send)"
[ "$(grep -c '● connect' /tmp/send)" = 2 ] || fail "two connects: $(cat /tmp/send)"
grep -q '○ disconnect' /tmp/send || fail "one disconnect: $(cat /tmp/send)"
grep -q 'no protocols' /tmp/send || fail "the first without protocols: $(cat /tmp/send)"
kill -INT "$run"
wait "$run" || fail "run ended with $?"

easim run --scenario flicker --on bt:hci1 >/tmp/accessory.log 2>&1 &
run=$!
easim scenario run flicker --at bt:hci0 --timeout 60s >/tmp/scenario 2>&1 || fail "scenario: $(cat /tmp/scenario /tmp/accessory.log)"
