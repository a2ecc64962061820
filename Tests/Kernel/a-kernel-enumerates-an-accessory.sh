# Checks how the kernel and udev see a simulated accessory: IDs, strings, the iAP interface and its pair of bulk
# endpoints.
. /easim/lib.sh
easim run lawk-view --on usbip:127.0.0.1:3240 >/tmp/run &
until_true 60 "the accessory" grep -q "plugged in" /tmp/run
easim plug usbip:127.0.0.1:3240 >/tmp/plug 2>&1 &
plug=$!
until_true 60 "the device" test -e /sys/bus/usb/devices/1-1/serial
cd /sys/bus/usb/devices/1-1 || fail "no device"
until_true 60 "the interface" test -e 1-1:1.0/bInterfaceClass
[ "$(cat idVendor):$(cat idProduct)" = "1209:0001" ] || fail "it is $(cat idVendor):$(cat idProduct)"
[ "$(cat serial)" = "040025380108A000608" ] || fail "its serial number is '$(cat serial)'"
[ "$(cat product)" = "李未可 View AI眼镜" ] || fail "its name is '$(cat product)'"
[ "$(cat speed)" = "480" ] || fail "its speed is $(cat speed)"
kind=$(cat 1-1:1.0/bInterfaceClass 1-1:1.0/bInterfaceSubClass 1-1:1.0/bInterfaceProtocol | tr '\n' ' ')
[ "$kind" = "ff f0 00 " ] || fail "its interface is $kind"
[ "$(cat 1-1:1.0/ep_81/type) $(cat 1-1:1.0/ep_02/type)" = "Bulk Bulk" ] || fail "it has no bulk pair"
kill -INT $plug
until_true 60 "the end of it" test ! -e /sys/bus/usb/devices/1-1
