# The simulator is a USB device on this kernel, and the host drives it through libusb and udev: list, info, the flicker as
# a real unplug and replug, a string, 10,000 bytes two hundred times, every byte compared.
# sample
. /easim/lib.sh
easim run lawk-view --quirk flicker --on usbip:127.0.0.1:3240 >/tmp/run &
run=$!
until_true 60 "the accessory" grep -q "plugged in" /tmp/run
easim plug usbip:127.0.0.1:3240 >/tmp/plug 2>&1 &
plug=$!
until_true 60 "the device" easim list usb:
easim list usb: >/tmp/list
grep -q "1209:0001" /tmp/list || fail "the list: $(cat /tmp/list)"
easim send usb: --text hello --expect echo --timeout 30s >/tmp/send 2>&1 || fail "send: $(cat /tmp/send)"
grep -q "no protocols" /tmp/send || fail "no flicker was seen: $(cat /tmp/send)"
grep -q "unplugged" /tmp/plug || fail "the flicker was no unplug: $(cat /tmp/plug)"
easim info usb: --timeout 30s >/tmp/info 2>&1 || fail "info: $(cat /tmp/info)"
grep -q "serialNumber: 040025380108A000608" /tmp/info || fail "info: $(cat /tmp/info)"
easim burst usb: --count 200 --timeout 60s >/tmp/burst 2>&1 || fail "burst: $(cat /tmp/burst)"
sed 's/^/measured: /' /tmp/burst
# A program that runs directly after another finds the accessory ready: its first cable leads to a connect.
easim send usb: --text again --expect echo --timeout 30s >/tmp/again 2>&1 || fail "again: $(cat /tmp/again)"
awk '/● connect/ { is_seen = 1 } /- unplugged/ { exit !is_seen }' /tmp/again || fail "it did not begin anew: $(cat /tmp/again)"
kill -INT $plug $run
