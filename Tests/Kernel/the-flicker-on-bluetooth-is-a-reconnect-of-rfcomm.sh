# modules: bt
# Tests the flicker on Bluetooth, and its scenario: the bond stays, while RFCOMM is disconnected and connected again.
. /easim/bluetooth.sh
pair_once --quirk flicker
easim send bt:hci0 --10k --expect echo >/tmp/send 2>&1 || fail "send: $(cat /tmp/send)"
[ "$(grep -c '● connect' /tmp/send)" = 2 ] || fail "two connects: $(cat /tmp/send)"
grep -q '○ disconnect' /tmp/send || fail "one disconnect: $(cat /tmp/send)"
grep -q 'no protocols' /tmp/send || fail "the first without protocols: $(cat /tmp/send)"
stop_accessory

easim run --scenario flicker --on bt:hci1 >/tmp/accessory.log 2>&1 &
unhurried flicker
easim scenario run /tmp/flicker.json5 --at bt:hci0 --timeout 60s >/tmp/scenario 2>&1 || fail "scenario: $(cat /tmp/scenario /tmp/accessory.log)"
