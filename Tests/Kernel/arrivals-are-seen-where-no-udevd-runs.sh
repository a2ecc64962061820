# A small board may have no udevd. The kernel's own events must then be enough to notice an arrival, open a session, and
# notice a departure.
# sample
. /easim/lib.sh
udevds() { for file in /proc/[0-9]*/comm; do [ "$(cat "$file" 2>/dev/null)" != systemd-udevd ] || echo "$file"; done; }
for file in $(udevds); do
  process=${file#/proc/}
  kill "${process%/comm}"
done
no_udevd() { [ -z "$(udevds)" ]; }
until_true 60 "the end of udevd" no_udevd
easim watch usb: >/tmp/watch 2>&1 &
watch=$!
easim run echo --on usbip:127.0.0.1:3240 >/tmp/run &
until_true 60 "the accessory" grep -q "plugged in" /tmp/run
easim plug usbip:127.0.0.1:3240 >/tmp/plug 2>&1 &
plug=$!
until_true 60 "the arrival" grep -q "plugged in" /tmp/watch
easim send usb: --text hello --expect echo --timeout 30s >/tmp/send 2>&1 || fail "send: $(cat /tmp/send)"
kill -INT $plug
until_true 60 "the departure" grep -q "unplugged" /tmp/watch
kill -INT $watch
