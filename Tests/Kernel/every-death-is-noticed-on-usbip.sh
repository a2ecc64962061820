# with: .build/install/release/ChannelsOnHardware=/easim/bin/ChannelsOnHardware
# The suite of deaths that every channel passes in 'swift test': the host's channel notices in every state that the accessory
# on USB/IP is unplugged.
. /easim/lib.sh
suite usbip deaths
