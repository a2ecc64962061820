# with: .build/install/release/ChannelsOnHardware=/easim/bin/ChannelsOnHardware
# The suite that every channel passes in 'swift test', here with libusb on the kernel's USB on one side and a FunctionFS
# gadget on dummy_hcd's device port on the other.
. /easim/lib.sh
suite gadget channels
[ -z "$(ls /sys/kernel/config/usb_gadget)" ] || fail "left in configfs: $(ls /sys/kernel/config/usb_gadget)"
