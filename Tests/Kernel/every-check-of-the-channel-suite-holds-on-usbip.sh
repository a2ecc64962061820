# with: .build/install/release/ChannelsOnHardware=/easim/bin/ChannelsOnHardware
# The suite that every channel passes in 'swift test', here with libusb on the kernel's USB on one side and the USB/IP
# server on the other.
. /easim/lib.sh
suite usbip channels
