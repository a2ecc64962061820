# with: .build/install/release/ChannelsOnHardware=/easim/bin/ChannelsOnHardware
# The suite of deaths that every channel passes in 'swift test': the host's channel notices in every state that the accessory
# on USB/IP is unplugged.
. /easim/lib.sh
ChannelsOnHardware usbip deaths >/tmp/suite 2>&1 || fail "$(grep -v '^✔' /tmp/suite)"
sed -n 's/^\([0-9]* checks\)/measured: \1/p' /tmp/suite
