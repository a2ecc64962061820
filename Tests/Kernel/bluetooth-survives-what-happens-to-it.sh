# modules: bt
# with: Tests/Kernel/bluetooth.sh=/easim/bluetooth.sh
# with: Tests/Kernel/bus.conf=/easim/bus.conf
# with: /usr/bin/dbus-daemon=/usr/bin/dbus-daemon
# with: /usr/bin/dbus-send=/usr/bin/dbus-send
# with: /usr/bin/btvirt=/usr/bin/btvirt
# with: /usr/libexec/bluetooth/bluetoothd=/usr/libexec/bluetooth/bluetoothd
# What happens to Bluetooth while it is used: killed processes, an adapter that is off, a service that is restarted.
. /easim/lib.sh
. /easim/bluetooth.sh
start_bluetooth
start_accessory bt:hci1
pair_machines

# A host that is killed: the accessory notices, and the next host is served.
easim burst bt:hci0 --for 60s >/tmp/burst 2>&1 &
burst=$!
until_true 20 "a session" grep -q 'open' /tmp/accessory.log
kill -9 "$burst"
easim send bt:hci0 --10k --expect echo --timeout 30s >/tmp/send 2>&1 || fail "after a killed host: $(cat /tmp/send)"

# bluetoothd is killed and started again: the service is registered again by itself.
kill -9 "$bluetoothd"
start_bluetoothd
set_adapter hci0 Powered boolean:true
set_adapter hci1 Powered boolean:true
easim send bt:hci0 --10k --expect echo --timeout 60s >/tmp/send 2>&1 ||
  fail "after a restart of bluetoothd: $(cat /tmp/send /tmp/accessory.log; tail -5 /tmp/bluetoothd.log)"

# The adapter of the host is off: a sentence, with the command that switches it on.
set_adapter hci0 Powered boolean:false
easim send bt:hci0 --10k --timeout 3s >/tmp/send 2>&1 && fail "it is off: $(cat /tmp/send)"
grep -q 'bluetoothctl power on' /tmp/send || fail "off: $(cat /tmp/send)"
set_adapter hci0 Powered boolean:true

# A second accessory is told that the service is taken.
timeout 20 easim run echo --on bt:hci0 >/tmp/second 2>&1 && fail "a second one: $(cat /tmp/second)"
grep -q 'BlueZ lets only one' /tmp/second || fail "a second one: $(cat /tmp/second)"

# An accessory that is killed takes its service with it.
kill -9 "$run"
until_true 5 "the service is gone" sh -c "! easim send bt:hci0 --10k --timeout 3s"
start_accessory bt:hci1
easim send bt:hci0 --10k --expect echo --timeout 30s >/tmp/send 2>&1 || fail "after a killed accessory: $(cat /tmp/send)"
