# An accessory that comes and goes is seen each time; if the accessory is pulled during a burst, the command exits with
# code 5.
. /easim/lib.sh
easim run echo --on usbip:127.0.0.1:3240 >/tmp/run &
until_true 60 "the accessory" grep -q "plugged in" /tmp/run
easim watch usb: >/tmp/watch 2>&1 &
watch=$!
seen() { [ "$(grep -c "$1" /tmp/watch)" -eq "$2" ]; }
round=1
while [ $round -le 20 ]; do
  easim plug usbip:127.0.0.1:3240 >/tmp/plug 2>&1 &
  plug=$!
  # A device that is unplugged before its descriptors have been read is not reported.
  until_true 60 "arrival $round" seen "plugged in" $round
  kill -INT $plug
  wait $plug || fail "plug ended with $?: $(cat /tmp/plug)"
  until_true 60 "departure $round" seen "unplugged" $round
  round=$((round + 1))
done
kill -INT $watch

easim plug usbip:127.0.0.1:3240 >/tmp/plug 2>&1 &
plug=$!
until_true 60 "the device" easim list usb:
easim burst usb: --for 30s >/tmp/burst 2>&1 &
burst=$!
until_true 60 "the burst" grep -q "● connect" /tmp/burst
kill -INT $plug
status=0
wait "$burst" || status=$?
[ $status -eq 5 ] || fail "the burst ended with $status: $(cat /tmp/burst)"
