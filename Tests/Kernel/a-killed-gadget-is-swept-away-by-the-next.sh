# A killed process leaves a gadget in configfs. The next process removes that gadget, works, and leaves nothing behind.
# Other programs' gadgets, and gadgets whose process is still running, are not touched.
. /easim/lib.sh
gadgets=/sys/kernel/config/usb_gadget
found() { for gadget in "$gadgets"/*; do echo "${gadget##*/}"; done; }
for bus in /sys/devices/platform/dummy_hcd.0/usb*; do device=/sys/bus/usb/devices/${bus##*/usb}-1; done
mkdir $gadgets/printer $gadgets/easim-copy
easim run echo --on gadget: >/tmp/run 2>&1 &
run=$!
until_true 60 "the device" test -e "$device/serial"

# A USB device controller can have only one gadget.
easim run echo --on gadget: >/tmp/second 2>&1 && fail "two gadgets on one controller"
grep -q "dummy_udc.0 is in use by the gadget 'easim-$run-" /tmp/second || fail "second: $(cat /tmp/second)"
[ -e "$device/serial" ] || fail "the first one lost its device"
[ "$(found | wc -l)" -eq 3 ] || fail "left in configfs: $(found)"

# The process is killed while a session and transfers are in progress.
easim burst usb: --for 60s >/tmp/burst 2>&1 &
burst=$!
until_true 60 "a session" grep -q "session 1 open" /tmp/run
kill -KILL "$run"
wait "$run" && fail "a killed process ended well"
status=0
wait "$burst" || status=$?
[ $status -eq 5 ] || fail "the burst ended with $status: $(cat /tmp/burst)"
until_true 60 "the unplug" test ! -e "$device"
[ "$(found | grep -c "easim-$run-")" -eq 1 ] || fail "nothing was left to sweep: $(found)"

easim run echo --on gadget: >/tmp/run 2>&1 &
run=$!
until_true 60 "the device, again" test -e "$device/serial"
grep -q "whose process has ended" /tmp/run || fail "the sweep was not told: $(cat /tmp/run)"
easim send usb: --10k --expect echo --timeout 60s >/tmp/send 2>&1 || fail "after the sweep: $(cat /tmp/send)"

# Removing the gadget by hand counts as unplugging, and the program prints the reason.
for gadget in "$gadgets/easim-$run-"*; do echo >"$gadget/UDC"; done
until_true 60 "the loss" grep -q "it was unbound from dummy_udc.0" /tmp/run
kill -INT "$run"
wait "$run" || fail "the accessory ended with $?: $(cat /tmp/run)"
[ "$(found | tr '\n' ' ')" = "easim-copy printer " ] || fail "left in configfs: $(found)"

# The command and `easim doctor` name each missing requirement.
easim doctor >/tmp/doctor
for finding in "udc .*gadget:dummy_udc.0" "configfs .*gadgets" "functionfs .*usb_f_fs"; do
  grep -q "^✓  $finding" /tmp/doctor || fail "no $finding: $(cat /tmp/doctor)"
done
echo dummy_udc.0 >$gadgets/printer/UDC 2>/dev/null || true
easim run echo --on gadget:nothing >/tmp/wrong 2>&1 && fail "a controller that is not there"
grep -q "there is no USB device controller 'nothing'; this machine has dummy_udc.0" /tmp/wrong || fail "$(cat /tmp/wrong)"
chmod 755 /easim /easim/bin
su qa -c "/easim/bin/easim run echo --on gadget:" >/tmp/wrong 2>&1 && fail "without root"
grep -q "needs root: run the command with sudo" /tmp/wrong || fail "$(cat /tmp/wrong)"
umount /sys/kernel/config
easim run echo --on gadget: >/tmp/wrong 2>&1 && fail "without configfs"
grep -q "sudo mount -t configfs none /sys/kernel/config" /tmp/wrong || fail "$(cat /tmp/wrong)"
easim doctor | grep -A 1 "^!  configfs" | grep -q "sudo mount -t configfs none /sys/kernel/config" || fail "$(easim doctor)"
