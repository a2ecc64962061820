# modules: bt
# with: Tests/Kernel/bluetooth.sh=/easim/bluetooth.sh
# with: Tests/Kernel/bus.conf=/easim/bus.conf
# with: /usr/bin/dbus-daemon=/usr/bin/dbus-daemon
# with: /usr/bin/dbus-send=/usr/bin/dbus-send
# with: /usr/bin/btvirt=/usr/bin/btvirt
# with: /usr/bin/hcitool=/usr/bin/hcitool
# with: /usr/libexec/bluetooth/bluetoothd=/usr/libexec/bluetooth/bluetoothd
# Links that are lost in a session: the adapter is switched off, the radio link breaks down, rfkill. Exit code 5 and a
# sentence; with --reconnect the load goes on when the accessory is back.
. /easim/lib.sh
. /easim/bluetooth.sh
start_bluetooth
start_accessory bt:hci1
pair_machines

sessions() { grep -c 'session 1 open' /tmp/accessory.log || true; }
has_more_sessions() { [ "$(sessions)" -gt "$before" ]; }

# begin_burst OPTIONS: a load in the background, in its session.
begin_burst() {
  before=$(sessions)
  easim burst bt:hci0 --for 60s --timeout 120s --quiet-messages "$@" >/tmp/burst 2>&1 &
  burst=$!
  until_true 30 "a session for $*" has_more_sessions
}

# ends_with_five WHY: the load ends with exit code 5, and says so.
ends_with_five() {
  code=0
  wait "$burst" || code=$?
  [ $code = 5 ] || fail "$1: exit code $code: $(cat /tmp/burst)"
  grep -q 'a burst in flight was lost: the session ended: ' /tmp/burst || fail "$1: $(cat /tmp/burst)"
}

begin_burst
set_adapter hci0 Powered boolean:false
ends_with_five "the adapter is off"
set_adapter hci0 Powered boolean:true

# The radio link breaks down, as out of range.
begin_burst
hcitool -i hci0 dc "$accessory"
ends_with_five "the radio link broke down"
# The guest's kernel trips over a device that is called as soon as it is gone.
sleep 3
easim send bt:hci0 --10k --expect echo --timeout 30s >/tmp/send 2>&1 || fail "in range again: $(cat /tmp/send)"

begin_burst --reconnect
before=$(sessions)
hcitool -i hci1 dc "$host"
until_true 60 "the session after the reconnect" has_more_sessions
kill -INT "$burst"
code=0
wait "$burst" || code=$?
[ $code = 0 ] || fail "reconnected: exit code $code: $(cat /tmp/burst)"
grep -q 'reconnected 1 times' /tmp/burst || fail "reconnected: $(cat /tmp/burst)"

begin_burst
for switch in /sys/class/rfkill/*; do
  if [ "$(cat "$switch/name")" = hci0 ]; then echo 1 >"$switch/soft"; fi
done
ends_with_five "rfkill"
easim send bt:hci0 --10k --timeout 3s >/tmp/send 2>&1 && fail "it is blocked: $(cat /tmp/send)"
grep -q 'rfkill unblock bluetooth' /tmp/send || fail "rfkill: $(cat /tmp/send)"
