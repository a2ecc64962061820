# with: Scripts/udev/70-easim.rules=/etc/udev/rules.d/70-easim.rules
# A user in the group plugdev can use an accessory of any vendor; without the rule, easim prints what to do.
# sample
. /easim/lib.sh
easim run echo --on usbip:127.0.0.1:3240 >/tmp/run &
until_true 60 "the accessory" grep -q "plugged in" /tmp/run
mv /etc/udev/rules.d/70-easim.rules /tmp/rule
udevadm control --reload
easim plug usbip:127.0.0.1:3240 >/tmp/plug 2>&1 &
plug=$!
until_true 60 "the device" easim list usb:
udevadm settle
chmod 755 /easim /easim/bin
su qa -c "/easim/bin/easim list usb:" >/tmp/without 2>&1 || true
grep -q "permission" /tmp/without || fail "without the rule: $(cat /tmp/without)"
su qa -c "/easim/bin/easim send usb: --text hello --expect echo --timeout 5s" >/tmp/refused 2>&1 && fail "it was let in"
grep -q "udev" /tmp/refused || fail "it does not say what to do: $(cat /tmp/refused)"
kill -INT $plug
until_true 60 "the unplug" test ! -e /sys/bus/usb/devices/1-1

mv /tmp/rule /etc/udev/rules.d/70-easim.rules
udevadm control --reload
easim plug usbip:127.0.0.1:3240 >/tmp/plug 2>&1 &
until_true 60 "the device, again" easim list usb:
udevadm settle
su qa -c "/easim/bin/easim send usb: --text hello --expect echo --timeout 20s" >/tmp/sent 2>&1 ||
  fail "with the rule: $(cat /tmp/sent; ls -l /dev/bus/usb/*/*)"
