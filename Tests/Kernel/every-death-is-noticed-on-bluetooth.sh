# modules: bt
# with: Tests/Kernel/bluetooth.sh=/easim/bluetooth.sh
# with: Tests/Kernel/bus.conf=/easim/bus.conf
# with: /usr/bin/dbus-daemon=/usr/bin/dbus-daemon
# with: /usr/bin/dbus-send=/usr/bin/dbus-send
# with: /usr/bin/btvirt=/usr/bin/btvirt
# with: /usr/libexec/bluetooth/bluetoothd=/usr/libexec/bluetooth/bluetoothd
# with: .build/install/release/ChannelsOnHardware=/easim/bin/ChannelsOnHardware
# The suite of deaths that every channel passes in 'swift test', here on RFCOMM between two virtual controllers.
. /easim/lib.sh
. /easim/bluetooth.sh
start_bluetooth
start_accessory bt:hci1
pair_machines
kill -INT "$run"
wait "$run" || fail "run ended with $?"
ChannelsOnHardware bluetooth deaths >/tmp/suite 2>&1 || fail "$(grep -v '^✔' /tmp/suite)"
sed -n 's/^\([0-9]* checks\)/measured: \1/p' /tmp/suite
