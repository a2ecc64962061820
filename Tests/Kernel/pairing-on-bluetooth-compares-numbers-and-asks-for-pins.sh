# modules: bt
# Tests what a scan shows of an accessory, a device that is not paired, and pairing with a number to compare and with a
# PIN.
. /easim/bluetooth.sh
start_bluetooth
start_accessory bt:hci1

# pair_ends CODE OPTIONS: runs `easim pair`, which must end with this exit code.
pair_ends() {
  wanted=$1
  shift
  code=0
  easim pair "bt:hci0#$accessory" --timeout 30s "$@" >/tmp/pair.log 2>&1 || code=$?
  [ $code = "$wanted" ] || fail "pair $*: exit code $code: $(cat /tmp/pair.log) $(tail -5 /tmp/bluetoothd.log)"
}

send_works() {
  easim send bt:hci0 --10k --expect echo --timeout 30s >/tmp/send 2>&1 || fail "send: $(cat /tmp/send)"
}

# A scan does not connect, because the name and the service are in the EIR.
easim pair bt:hci0 --timeout 6s >/tmp/scan 2>&1 || fail "scan: $(cat /tmp/scan)"
grep "$accessory .* accessory .* 李未可 View" /tmp/scan >/dev/null || fail "scan: $(cat /tmp/scan)"

# A device that is a near miss is seen, but cannot be used, because it is not paired.
easim list "bt:hci0#$accessory" >/tmp/list 2>&1 && fail "not paired, and listed: $(cat /tmp/list)"
grep -q "pair it: easim pair bt:$accessory" /tmp/list || fail "list: $(cat /tmp/list)"
code=0
easim send "bt:hci0#$accessory" --10k --timeout 3s >/tmp/send 2>&1 || code=$?
[ $code = 3 ] || fail "not paired: exit code $code: $(cat /tmp/send)"
grep -q "pair it: easim pair bt:$accessory" /tmp/send || fail "not paired: $(cat /tmp/send)"

# With --pin, the user can type, so there is a number to compare; without a terminal, only --yes can answer.
pair_ends 6 --pin 4711
grep -q 'show [0-9]\{6\}? To answer yes' /tmp/pair.log || fail "a number: $(cat /tmp/pair.log)"
pair_ends 0 --pin 4711 --yes
grep -q 'show [0-9]\{6\}? yes' /tmp/pair.log || fail "a number: $(cat /tmp/pair.log)"
send_works
easim unpair "bt:$accessory" || fail "unpair"

# A PIN is used, because devices older than Bluetooth 2.1 ask for one.
hciconfig hci0 sspmode 0
hciconfig hci1 sspmode 0
pair_ends 6
grep -q 'asks for a PIN: --pin PIN' /tmp/pair.log || fail "a PIN: $(cat /tmp/pair.log)"
pair_ends 0 --pin 4711
send_works
