# modules: bt
# with: .build/install/release/ChannelsOnHardware=/easim/bin/ChannelsOnHardware
# The suite that every channel passes in 'swift test', here on RFCOMM between two virtual controllers.
. /easim/bluetooth.sh
pair_once
stop_accessory
ChannelsOnHardware bluetooth channels >/tmp/suite 2>&1 || fail "$(grep -v '^✔' /tmp/suite)"
sed -n 's/^\([0-9]* checks\)/measured: \1/p' /tmp/suite
