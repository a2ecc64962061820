# modules: vhci,usbmon
# c: Tests/Kernel/usbmon_pcap.c=/easim/usbmon_pcap
# A capture that usbmon makes of the bus decodes to the same packets as the one that easim makes at the end of the cable, and
# has the same session bytes.
. /easim/lib.sh
easim run lawk-view --on usbip:127.0.0.1:3240 >/tmp/run &
run=$!
until_true 60 "the accessory" grep -q "plugged in" /tmp/run
/easim/usbmon_pcap /tmp/usb.pcap 2>/tmp/usbmon &
monitor=$!
until_true 60 "usbmon" test -s /tmp/usb.pcap
easim plug usbip:127.0.0.1:3240 >/tmp/plug 2>&1 &
plug=$!
until_true 60 "the device" easim list usb:
easim send usb: --10k --expect echo --timeout 60s --capture /tmp/own.pcapng >/tmp/send 2>&1 || fail "send: $(cat /tmp/send)"
kill -INT $monitor
wait $monitor || fail "usbmon: $(cat /tmp/usbmon)"
easim decode /tmp/own.pcapng >/tmp/own || fail "its own: $(cat /tmp/own)"
easim decode /tmp/usb.pcap >/tmp/usb || fail "usbmon's: $(cat /tmp/usb)"
# usbmon also sees bytes that were still in transit when the host disconnected, and identifies each end by the
# direction.
sed -n -e 's/^[0-9.]* A[0-9]* //p' /tmp/own >/tmp/own.in
sed -n -e 's/^[0-9.]* D[0-9]* //p' /tmp/own | grep -v ' closed$' | grep -v '^closed' >/tmp/own.out
sed -n -e 's/^[0-9.]* IN[0-9]* //p' /tmp/usb | head -n "$(wc -l </tmp/own.in)" >/tmp/usb.in
sed -n -e 's/^[0-9.]* OUT[0-9]* //p' /tmp/usb >/tmp/usb.out
if [ "$(wc -l </tmp/own.in)" -lt 10 ] || [ "$(wc -l </tmp/own.out)" -lt 10 ]; then fail "too little: $(cat /tmp/own)"; fi
for way in in out; do
  diff /tmp/own.$way /tmp/usb.$way >/tmp/difference || fail "$way: $(cat /tmp/difference)"
done
for file in own.pcapng usb.pcap; do
  easim decode --sessions /tmp/$file.sessions /tmp/$file >/tmp/decoded || fail "$file: $(cat /tmp/decoded)"
  (cd /tmp/$file.sessions && md5sum ./* | cut -d ' ' -f 1 | sort) >/tmp/$file.sums
done
[ "$(wc -l </tmp/own.pcapng.sums)" = 2 ] || fail "not one session: $(ls /tmp/own.pcapng.sessions)"
cmp /tmp/own.pcapng.sums /tmp/usb.pcap.sums || fail "the sessions differ"
echo "measured: $(cat /tmp/own.in /tmp/own.out | wc -l) packets are equal"

# Redacted, it decodes as before, and does not contain the serial number, which is in USB's descriptors as well.
easim redact --json /tmp/usb.pcap >/tmp/redacted || fail "redact: $(cat /tmp/redacted)"
grep -q '"serial":{"values":1' /tmp/redacted || fail "redact: $(cat /tmp/redacted)"
# Descriptors have a zero after each character.
tr -d '\000' </tmp/usb.pcap | grep -qa 040025380108A000608 || fail "the capture has no descriptor"
if tr -d '\000' </tmp/usb.redacted.pcap | grep -qa 040025380108A; then fail "the serial number is left"; fi
easim decode /tmp/usb.redacted.pcap >/tmp/usb.again || fail "decode: $(cat /tmp/usb.again)"
[ "$(wc -l </tmp/usb)" = "$(wc -l </tmp/usb.again)" ] || fail "it decodes differently: $(tail -3 /tmp/usb.again)"
kill -INT $plug $run
