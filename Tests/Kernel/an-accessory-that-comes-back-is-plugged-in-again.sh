# When an accessory's program ends and starts again, udev sees a device that disappears and comes back.
# sample
. /easim/lib.sh
udevadm monitor --udev --subsystem-match=usb/usb_device >/tmp/events &
easim run echo --on usbip:127.0.0.1:3240 >/tmp/run &
run=$!
until_true 60 "the accessory" grep -q "plugged in" /tmp/run
easim plug usbip:127.0.0.1:3240 >/tmp/plug 2>&1 &
until_true 60 "the device" test -e /sys/bus/usb/devices/1-1/serial
kill -INT "$run"
until_true 60 "the unplug" test ! -e /sys/bus/usb/devices/1-1
easim run echo --on usbip:127.0.0.1:3240 >/tmp/run2 &
until_true 60 "the replug" test -e /sys/bus/usb/devices/1-1/serial
seen() { [ "$(grep -c "add\|remove" /tmp/events)" -ge 3 ]; }
until_true 60 "udev's events" seen
