# modules: bt
# with: Tests/Kernel/bluetooth.sh=/easim/bluetooth.sh
# with: Tests/Kernel/bus.conf=/easim/bus.conf
# with: /usr/bin/dbus-daemon=/usr/bin/dbus-daemon
# with: /usr/bin/dbus-send=/usr/bin/dbus-send
# with: /usr/bin/btvirt=/usr/bin/btvirt
# with: /usr/libexec/bluetooth/bluetoothd=/usr/libexec/bluetooth/bluetoothd
# Two accessories at once, one of them not on Bluetooth; an accessory that sends noise, and one that never answers.
. /easim/lib.sh
. /easim/bluetooth.sh
start_bluetooth
start_accessory bt:hci1
pair_machines
easim run echo --on unix:/tmp/a.sock >/tmp/unix.log 2>&1 &
until_true 20 "an accessory on a socket" test -e /tmp/a.sock
easim burst bt:hci0 unix:/tmp/a.sock --count 30 --timeout 60s >/tmp/burst 2>&1 || fail "two accessories: $(cat /tmp/burst)"
grep -q '1 session to each of 2 accessories' /tmp/burst || fail "two accessories: $(cat /tmp/burst)"
kill -INT "$run"
wait "$run" || fail "run ended with $?: $(cat /tmp/accessory.log)"

start_accessory bt:hci1 --fault stale,kind=noise,bytes=4000
easim send bt:hci0 --10k --expect echo --timeout 30s >/tmp/send 2>&1 || fail "after noise: $(cat /tmp/send)"
kill -INT "$run"
wait "$run" || fail "run ended with $?: $(cat /tmp/accessory.log)"

# Some makers run protocols of their own on this service: nothing answers iAP2's detection.
start_accessory bt:hci1 --fault half-dead
code=0
easim send bt:hci0 --10k --timeout 10s >/tmp/send 2>&1 || code=$?
[ $code = 6 ] || fail "it is silent: exit code $code: $(cat /tmp/send)"
