# modules: bt
# with: Tests/Kernel/bumble_end.py=/easim/bumble_end.py
# python: Tests/Kernel/bumble_end.py
# A device whose Bluetooth is PyPI's bumble closes its RFCOMM connection to a simulated accessory on BlueZ, in several ways, and
# dials again at once, while the radio link stays up: the accessory serves every connection.
. /easim/bluetooth.sh
start_controllers
host=$(hciconfig hci0 | sed -n 's/.*BD Address: \([^ ]*\).*/\1/p')
# shellcheck disable=SC2034  # start_bluetoothd reads it.
adapters=hci0
start_bluetoothd
set_adapter hci0 Powered boolean:true
start_accessory bt:hci0
python3 /easim/bumble_end.py redial 12 "$host" >/tmp/bumble.log 2>&1 &
until_true 250 "bumble is done: $(cat /tmp/bumble.log)" grep -q '^done' /tmp/bumble.log
[ "$(grep -c '^[a-z0-9]* [0-9]*: [0-9.]* s$' /tmp/bumble.log)" = 48 ] ||
  fail "redialing: $(grep -E '^[a-z0-9]+ [0-9]+: ' /tmp/bumble.log) $(tail -20 /tmp/accessory.log)"
echo "measured: $(sed -n 's/^[a-z0-9]* [0-9]*: \([0-9.]*\) s$/\1/p' /tmp/bumble.log | sort -n | tail -1) s for the slowest of 48"
