# modules: bt
# with: Tests/Kernel/bumble_end.py=/easim/bumble_end.py
# python: Tests/Kernel/bumble_end.py
# The host, by BlueZ, drives an accessory whose Bluetooth is PyPI's bumble: what a scan shows, pairing, SDP, RFCOMM, a session.
. /easim/bluetooth.sh
start_controllers
easim run lawk-view --on unix:/tmp/inner.sock >/tmp/accessory.log 2>&1 &
until_true 20 "the accessory behind bumble" test -e /tmp/inner.sock
start_bumble accessory /tmp/inner.sock

easim pair bt:hci0 --timeout 8s >/tmp/scan 2>&1 || fail "scan: $(cat /tmp/scan /tmp/bumble.log)"
grep -q "$other .* accessory .* bumble's accessory" /tmp/scan || fail "scan: $(cat /tmp/scan)"
easim pair "bt:$other" --yes --timeout 30s >/tmp/pair.log 2>&1 || fail "pair: $(cat /tmp/pair.log /tmp/bumble.log)"
easim info bt: --timeout 30s >/tmp/info 2>&1 || fail "info: $(cat /tmp/info /tmp/bumble.log)"
grep -q com.lawaken.iap2 /tmp/info || fail "info: $(cat /tmp/info)"
for i in 1 2 3; do
  easim send bt: --10k --expect echo --timeout 30s >/tmp/send 2>&1 || fail "send $i: $(cat /tmp/send /tmp/bumble.log)"
done
easim burst bt: --count 10 --timeout 60s >/tmp/burst 2>&1 || fail "burst: $(cat /tmp/burst /tmp/bumble.log)"

# Follows docs/real-accessory.md: sends with a capture, decodes it, and makes a profile from it.
easim send bt: --text hello --capture /tmp/gadget.pcapng --timeout 30s >/tmp/send 2>&1 || fail "send: $(cat /tmp/send)"
easim decode /tmp/gadget.pcapng >/tmp/decoded 2>&1 || fail "decode: $(cat /tmp/decoded)"
grep -q IdentificationAccepted /tmp/decoded || fail "decode: $(cat /tmp/decoded)"
easim profile import /tmp/gadget.pcapng >/tmp/gadget.json5 || fail "import"
easim profile check /tmp/gadget.json5 >/tmp/checked 2>&1 || fail "check: $(cat /tmp/checked /tmp/gadget.json5)"
grep -q 'behavior: "echo"' /tmp/gadget.json5 || fail "profile: $(cat /tmp/gadget.json5)"
