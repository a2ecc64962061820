# Plays the accessory's end of a scenario on this kernel's own device port, and the device's end through libusb. The
# accessory ends by itself, because the gadget notices that the host has disconnected.
. /easim/lib.sh
easim run --scenario flicker --on gadget: >/tmp/run 2>&1 &
run=$!
unhurried flicker
easim scenario run /tmp/flicker.json5 --at usb: --timeout 60s >/tmp/device 2>&1 || fail "$(cat /tmp/device /tmp/run)"
wait "$run" || fail "its accessory ended with $?: $(cat /tmp/run)"
grep -q "was played completely" /tmp/run || fail "$(cat /tmp/run)"
[ -z "$(ls /sys/kernel/config/usb_gadget)" ] || fail "left in configfs: $(ls /sys/kernel/config/usb_gadget)"
