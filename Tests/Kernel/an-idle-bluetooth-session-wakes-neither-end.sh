# modules: bt
# While a session is open and nothing is sent, neither the host nor the accessory wakes up.
. /easim/bluetooth.sh
pair_once

# wake_ups PID: prints how many times a process's threads have gone to sleep so far.
wake_ups() { echo $(($(sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$1"/task/*/status | tr '\n' '+')0)); }

# The program's standard input stays open after the command has been sent.
mkfifo /tmp/commands
{ echo open; sleep 1000; } >/tmp/commands &
easim console bt:hci0 </tmp/commands >/tmp/console 2>&1 &
host=$!
until_true 30 "a session" grep -q 'session 1 open' /tmp/accessory.log
# Allows time for the last acknowledgements and log lines.
sleep 3
before_host=$(wake_ups $host) before_accessory=$(wake_ups "$run")
sleep 10
after_host=$(wake_ups $host) after_accessory=$(wake_ups "$run")
kill -0 $host || fail "the host has ended: $(cat /tmp/console)"
woken="host $((after_host - before_host)), accessory $((after_accessory - before_accessory))"
echo "measured: wake-ups in 10 s of an idle session: $woken"
[ "$woken" = "host 0, accessory 0" ] || fail "wake-ups: $woken"
