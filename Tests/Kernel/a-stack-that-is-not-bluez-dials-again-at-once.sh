# modules: bt
# with: Tests/Kernel/bumble_end.py=/easim/bumble_end.py
# python: Tests/Kernel/bumble_end.py
# A device whose Bluetooth is PyPI's bumble closes its RFCOMM connection to a simulated accessory on BlueZ and dials again at
# once, while the radio link stays up.
. /easim/bluetooth.sh
start_controllers
host=$(hciconfig hci0 | sed -n 's/.*BD Address: \([^ ]*\).*/\1/p')
start_bumble redial /tmp/go "$host"
start_accessory bt:hci0
touch /tmp/go
for i in $(seq 1 200); do grep -q '^over' /tmp/bumble.log && break; sleep 1; done
cat /tmp/bumble.log
tail -60 /tmp/accessory.log
tail -20 /tmp/bluetoothd.log
exit 1
