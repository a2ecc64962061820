# with: .build/install/release/ChannelsOnHardware=/easim/bin/ChannelsOnHardware
# The suite of deaths that every channel passes in 'swift test': the host's channel notices in every state that the accessory
# on a gadget is unplugged.
. /easim/lib.sh
suite gadget deaths
[ -z "$(ls /sys/kernel/config/usb_gadget)" ] || fail "left in configfs: $(ls /sys/kernel/config/usb_gadget)"
