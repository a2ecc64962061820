# Plays the accessory's end of a scenario as a USB device of this kernel, and the device's end through libusb. The
# flicker unplugs the device and plugs it in again, and a session follows. Also checks that this machine meets all
# requirements.
. /easim/lib.sh
easim doctor | grep -q "^✓  usbip .*vhci_hcd" || fail "$(easim doctor)"
easim run --scenario flicker --on usbip:127.0.0.1:3240 >/tmp/run 2>&1 &
run=$!
until_true 60 "the accessory" grep -q "plugged in" /tmp/run
easim plug usbip:127.0.0.1:3240 >/tmp/plug 2>&1 &
plug=$!
unhurried flicker
easim scenario run /tmp/flicker.json5 --at usb: --timeout 60s >/tmp/device 2>&1 || fail "$(cat /tmp/device /tmp/run)"
wait "$run" || fail "its accessory ended with $?: $(cat /tmp/run)"
grep -q "was played completely" /tmp/run || fail "$(cat /tmp/run)"
until_true 60 "the unplug" grep -q "unplugged" /tmp/plug
kill -INT $plug
wait $plug || fail "plug ended with $?: $(cat /tmp/plug)"
[ "$(grep -c "virtual port" /tmp/plug)" -eq 2 ] || fail "no unplug and replug: $(cat /tmp/plug)"
