# modules: bt
# Tests two accessories at once, one of which is not on Bluetooth; an accessory that sends noise; and an accessory that
# never answers.
. /easim/bluetooth.sh
pair_once
easim run echo --on unix:/tmp/a.sock >/tmp/unix.log 2>&1 &
until_true 20 "an accessory on a socket" test -e /tmp/a.sock
easim burst bt:hci0 unix:/tmp/a.sock --count 30 --timeout 60s >/tmp/burst 2>&1 || fail "two accessories: $(cat /tmp/burst)"
grep -q '1 session to each of 2 accessories' /tmp/burst || fail "two accessories: $(cat /tmp/burst)"
stop_accessory

start_accessory bt:hci1 --fault stale,kind=noise,bytes=4000
easim send bt:hci0 --10k --expect echo --timeout 30s >/tmp/send 2>&1 || fail "after noise: $(cat /tmp/send)"
stop_accessory

# Some manufacturers run their own protocols on this service, which do not answer iAP2's detection.
start_accessory bt:hci1 --fault half-dead
ends_with 6 easim send bt:hci0 --10k --timeout 20s
ends_with 6 easim info bt:hci0 --timeout 20s
grep -q 'did not take part in detection within 15s' /tmp/ended || fail "info: $(cat /tmp/ended)"
# A device that does not answer is listed as a near miss, with the reason.
ends_with 3 easim list bt:hci0
grep -q "$accessory.*(the device connects but sends nothing for 5s" /tmp/ended || fail "list: $(cat /tmp/ended)"
ends_with 3 easim list bt:hci0 --json
grep -q '"event":"warning".*the device connects but sends nothing for 5s' /tmp/ended || fail "list: $(cat /tmp/ended)"
stop_accessory

# A device that has disappeared is also listed as a near miss.
ends_with 3 easim list bt:hci0
grep -q "$accessory.*(the device does not offer the accessory service" /tmp/ended || fail "list: $(cat /tmp/ended)"
