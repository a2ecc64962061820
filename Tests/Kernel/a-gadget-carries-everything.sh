# The simulator is a gadget on this kernel's own device port (dummy_hcd), by FunctionFS, and the host drives it through libusb
# and udev: strings, list, the flicker as a real unplug and replug, 10,000 bytes fifty times, every byte compared, info.
# sample
. /easim/lib.sh
device=/sys/bus/usb/devices/17-1
gadgets=/sys/kernel/config/usb_gadget
for bus in /sys/devices/platform/dummy_hcd.0/usb*; do device=/sys/bus/usb/devices/${bus##*/usb}-1; done
udevadm monitor --udev --subsystem-match=usb/usb_device >/tmp/events &
easim run lawk-view --quirk flicker --on gadget: >/tmp/run 2>&1 &
run=$!
until_true 60 "the accessory" grep -q "plugged in at gadget:dummy_udc.0" /tmp/run
until_true 60 "the device" test -e "$device/serial"
[ "$(cat "$device/idVendor"):$(cat "$device/idProduct")" = "1209:0001" ] || fail "it is $(cat "$device/idVendor")"
[ "$(cat "$device/manufacturer")" = "李未可" ] || fail "its manufacturer is '$(cat "$device/manufacturer")'"
[ "$(cat "$device/product")" = "李未可 View AI眼镜" ] || fail "its name is '$(cat "$device/product")'"
[ "$(cat "$device/serial")" = "040025380108A000608" ] || fail "its serial number is '$(cat "$device/serial")'"
[ "$(cat "$device/speed") $(cat "$device/bmAttributes") $(cat "$device/bMaxPower")" = "480 c0 100mA" ] || fail "its speed"
until_true 60 "the interface" test -e "$device:1.0/interface"
[ "$(cat "$device:1.0/interface")" = "iAP Interface" ] || fail "its interface is '$(cat "$device:1.0/interface")'"
until_true 60 "the list" easim list usb:
easim list usb: >/tmp/list
grep -q "1209:0001" /tmp/list || fail "the list: $(cat /tmp/list)"
! grep -q "device connected" /tmp/run || fail "a cable began before any program used it: $(cat /tmp/run)"

easim send usb: --text hello --expect echo --timeout 60s >/tmp/send 2>&1 || fail "send: $(cat /tmp/send)"
grep -q "no protocols" /tmp/send || fail "no flicker was seen: $(cat /tmp/send)"
[ "$(grep -c "unplugged: the flicker" /tmp/run)" -eq 1 ] || fail "one host saw more than one flicker: $(cat /tmp/run)"
flickered() { [ "$(grep -c " add " /tmp/events)" -ge 2 ] && grep -q " remove " /tmp/events; }
until_true 60 "the flicker in udev's events" flickered
easim info usb: --timeout 60s >/tmp/info 2>&1 || fail "info: $(cat /tmp/info)"
grep -q "serialNumber: 040025380108A000608" /tmp/info || fail "info: $(cat /tmp/info)"
kill -INT "$run"
wait "$run" || fail "the accessory ended with $?: $(cat /tmp/run)"
until_true 60 "the unplug" test ! -e "$device"
[ -z "$(ls $gadgets)" ] || fail "left in configfs: $(find $gadgets)"

# Covers sizes around zero, one full packet and more than one transfer, in each direction.
easim run echo --on gadget:dummy_udc.0 >/tmp/run 2>&1 &
run=$!
until_true 60 "the second accessory" easim list usb:
for size in 1 482 503 511 512 513 1024 16384 40000; do
  head -c $size /dev/urandom >/tmp/data
  easim send usb: --file /tmp/data --expect echo --timeout 60s >/tmp/send 2>&1 || fail "$size bytes: $(cat /tmp/send)"
done
easim burst usb: --count 50 --timeout 120s >/tmp/burst 2>&1 || fail "burst: $(cat /tmp/burst)"
sed -n 's/^\([0-9]* bursts\|  throughput\|  latency\)/measured: &/p' /tmp/burst

# A killed program does not close its session, but the gadget notices.
sessions=$(grep -c "session 1 open" /tmp/run)
easim burst usb: --for 60s >/tmp/killed 2>&1 &
burst=$!
opened() { [ "$(grep -c "session 1 open" /tmp/run)" -gt "$sessions" ]; }
until_true 60 "its session" opened
kill -KILL "$burst"
until_true 60 "its end" grep -q "the host stopped reading" /tmp/run
easim send usb: --10k --expect echo --timeout 60s >/tmp/send 2>&1 || fail "after a killed program: $(cat /tmp/send)"
kill -INT "$run"
wait "$run" || fail "the accessory ended with $?: $(cat /tmp/run)"

# The same steps are repeated at USB full speed.
cat >/tmp/slow.json5 <<'END'
{ version: 1, extends: "echo", usb: { speed: "full" } }
END
easim run /tmp/slow.json5 --on gadget: >/tmp/run 2>&1 &
run=$!
until_true 60 "the slow accessory" test -e "$device:1.0/bInterfaceClass"
[ "$(cat "$device/speed")" = 12 ] || fail "its speed is $(cat "$device/speed")"
easim send usb: --10k --expect echo --timeout 60s >/tmp/send 2>&1 || fail "slow: $(cat /tmp/send; cat /tmp/run)"
kill -INT "$run"
wait "$run"
