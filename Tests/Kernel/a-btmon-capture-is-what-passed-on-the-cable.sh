# modules: bt
# with: /usr/bin/btmon=/usr/bin/btmon
# A capture that btmon makes of the controller decodes to the same packets as the one that easim makes at the end of the cable,
# and has the same session bytes.
. /easim/bluetooth.sh
pair_once
btmon -i hci0 -w /tmp/bt.snoop >/tmp/btmon 2>&1 &
monitor=$!
until_true 20 "btmon" test -s /tmp/bt.snoop
easim send bt:hci0 --10k --expect echo --timeout 60s --capture /tmp/own.pcapng >/tmp/send 2>&1 || fail "send: $(cat /tmp/send)"
kill -TERM $monitor
wait $monitor || true
easim decode /tmp/own.pcapng >/tmp/own || fail "its own: $(cat /tmp/own)"
easim decode /tmp/bt.snoop >/tmp/bt || fail "btmon's: $(cat /tmp/bt)"
sed -n -e 's/^[0-9.]* A[0-9]* //p' /tmp/own >/tmp/own.in
sed -n -e 's/^[0-9.]* D[0-9]* //p' /tmp/own | grep -v '^closed' >/tmp/own.out
# btmon also sees bytes that were still in transit when the host disconnected.
sed -n -e 's/^[0-9.]* RX[0-9]* //p' /tmp/bt | head -n "$(wc -l </tmp/own.in)" >/tmp/bt.in
sed -n -e 's/^[0-9.]* TX[0-9]* //p' /tmp/bt >/tmp/bt.out
if [ "$(wc -l </tmp/own.in)" -lt 10 ] || [ "$(wc -l </tmp/own.out)" -lt 10 ]; then fail "too little: $(cat /tmp/own)"; fi
for way in in out; do
  diff /tmp/own.$way /tmp/bt.$way >/tmp/difference || fail "$way: $(cat /tmp/difference) $(head -5 /tmp/bt)"
done
for file in own.pcapng bt.snoop; do
  easim decode --sessions /tmp/$file.sessions /tmp/$file >/tmp/decoded || fail "$file: $(cat /tmp/decoded)"
  (cd /tmp/$file.sessions && md5sum ./* | cut -d ' ' -f 1 | sort) >/tmp/$file.sums
done
[ "$(wc -l </tmp/own.pcapng.sums)" = 2 ] || fail "not one session: $(ls /tmp/own.pcapng.sessions)"
cmp /tmp/own.pcapng.sums /tmp/bt.snoop.sums || fail "the sessions differ"
# Redacted, it decodes as before, and contains neither the serial number nor the adapters' addresses.
easim redact --json /tmp/bt.snoop >/tmp/redacted || fail "redact: $(cat /tmp/redacted)"
grep -q '"serial":{"values":1' /tmp/redacted || fail "redact: $(cat /tmp/redacted)"
mv /tmp/bt.redacted.snoop /tmp/redacted.snoop
easim decode /tmp/redacted.snoop >/tmp/bt.again || fail "decode: $(cat /tmp/bt.again)"
[ "$(wc -l </tmp/bt)" = "$(wc -l </tmp/bt.again)" ] || fail "it decodes differently: $(tail -3 /tmp/bt.again)"
btmon -r /tmp/redacted.snoop >/tmp/shown
for text in "$accessory" "$host"; do
  if grep -qF "$text" /tmp/shown; then fail "left: $text"; fi
done
if grep -qa 040025380108A /tmp/redacted.snoop; then fail "the serial number is left"; fi
echo "measured: $(cat /tmp/own.in /tmp/own.out | wc -l) packets are equal"
