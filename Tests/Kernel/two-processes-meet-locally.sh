# Two processes find each other through the local directory, on the guest's kernel.
. /easim/lib.sh
easim run lawk-view --quirk flicker >/tmp/run &
run=$!
until_true 60 "the local accessory" easim list local:
easim send --10k --expect echo --timeout 30s >/tmp/send || fail "$(cat /tmp/send)"
grep -q "10000 bytes sent, EADemo's pattern came back" /tmp/send || fail "$(cat /tmp/send)"
kill -INT "$run"
wait "$run" || fail "the accessory ended with $?"
[ "$(easim list --json)" = "" ] || fail "something is left in the local directory"
