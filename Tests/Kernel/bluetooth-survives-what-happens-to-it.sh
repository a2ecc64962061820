# modules: bt
# Tests what can happen to Bluetooth while it is in use: killed processes, an adapter that is off, a service that is
# restarted.
. /easim/bluetooth.sh
pair_once

# When a host is killed, the accessory notices, and the next host is served.
easim burst bt:hci0 --for 60s >/tmp/burst 2>&1 &
burst=$!
until_true 20 "a session" grep -q 'open' /tmp/accessory.log
kill -9 "$burst"
easim send bt:hci0 --10k --expect echo --timeout 30s >/tmp/send 2>&1 || fail "after a killed host: $(cat /tmp/send)"

# When bluetoothd is killed and started again, the accessory registers its service again by itself.
kill -9 "$bluetoothd"
start_bluetoothd
set_adapter hci0 Powered boolean:true
set_adapter hci1 Powered boolean:true
easim send bt:hci0 --10k --expect echo --timeout 60s >/tmp/send 2>&1 ||
  fail "after a restart of bluetoothd: $(cat /tmp/send /tmp/accessory.log; tail -5 /tmp/bluetoothd.log)"

# When the host's adapter is off, every command reports that, prints the command that switches the adapter on, and exits
# with code 3.
set_adapter hci0 Powered boolean:false
for command in list "info --timeout 2s" "send --10k --timeout 2s" "burst --count 1 --timeout 2s" "check --timeout 2s" \
  "scenario run flicker --timeout 2s --at" "pair --timeout 2s" "pair --timeout 2s bt:hci0#$accessory"; do
  case $command in *bt:*) where= ;; *) where=bt:hci0 ;; esac
  # shellcheck disable=SC2086  # Words of a command.
  ends_with 3 easim $command $where </dev/null
  grep -q 'hci0 is off; turn it on: bluetoothctl power on' /tmp/ended || fail "$command: $(cat /tmp/ended)"
done
set_adapter hci0 Powered boolean:true

# A second accessory reports that the service is already in use.
timeout 20 easim run echo --on bt:hci0 >/tmp/second 2>&1 && fail "a second one: $(cat /tmp/second)"
grep -q 'BlueZ lets only one' /tmp/second || fail "a second one: $(cat /tmp/second)"

# When an accessory is killed, its service disappears.
kill -9 "$run"
until_true 5 "the service is gone" sh -c "! easim send bt:hci0 --10k --timeout 3s"
start_accessory bt:hci1
easim send bt:hci0 --10k --expect echo --timeout 30s >/tmp/send 2>&1 || fail "after a killed accessory: $(cat /tmp/send)"
stop_accessory

# An accessory waits until its adapter is switched on.
set_adapter hci1 Powered boolean:false
easim run lawk-view --on bt:hci1 >/tmp/accessory.log 2>&1 &
run=$!
until_true 20 "the accessory says why it waits" grep -q 'hci1 is off; turn it on' /tmp/accessory.log
set_adapter hci1 Powered boolean:true
ends_with 0 easim send bt:hci0 --10k --expect echo --timeout 30s

# BlueZ is not running at all.
kill -9 "$bluetoothd"
for command in list "info --timeout 2s" "send --10k --timeout 2s" "pair --timeout 2s" "unpair --timeout 2s"; do
  where=bt:hci0
  case $command in unpair*) where="bt:$accessory" ;; esac
  # shellcheck disable=SC2086
  ends_with 3 easim $command $where
  grep -Eq 'systemctl start bluetooth|service bluetooth start' /tmp/ended || fail "$command: $(cat /tmp/ended)"
done
