# On a machine without Swift and without a network, with an emulated processor, the installed program has everything
# that it needs.
. /easim/lib.sh
expect "the demo" easim demo >/tmp/demo
grep -q "✓ flicker seen, session opened, both echoes verified" /tmp/demo || fail "$(cat /tmp/demo)"
expect "the examination" easim doctor >/tmp/doctor
grep -q "^✓  libcrypto" /tmp/doctor || fail "$(cat /tmp/doctor)"
