# The accessory's half of a scenario on this kernel's own device port, and the device's half through libusb.
. /easim/lib.sh
for name in flicker refused-until-replugged pulled-mid-upload stale-bytes; do
  easim scenario show $name >/dev/null || fail "no scenario $name"
  easim run --scenario $name --on gadget: >/tmp/run 2>&1 &
  run=$!
  easim scenario run $name --at usb: --timeout 60s >/tmp/device 2>&1 || fail "$name: $(cat /tmp/device /tmp/run)"
  wait $run || fail "$name: its accessory ended with $?: $(cat /tmp/run)"
  grep -q "was played to its end" /tmp/run || fail "$name: $(cat /tmp/run)"
done
[ -z "$(ls /sys/kernel/config/usb_gadget)" ] || fail "left in configfs: $(ls /sys/kernel/config/usb_gadget)"
