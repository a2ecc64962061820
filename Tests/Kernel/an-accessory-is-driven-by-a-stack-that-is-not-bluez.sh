# modules: bt
# with: Tests/Kernel/bumble_end.py=/easim/bumble_end.py
# python: Tests/Kernel/bumble_end.py
# A device whose Bluetooth is PyPI's bumble finds, pairs with and drives a simulated accessory on BlueZ.
. /easim/bluetooth.sh
start_controllers
host=$(hciconfig hci0 | sed -n 's/.*BD Address: \([^ ]*\).*/\1/p')
start_bumble device /tmp/outer.sock "$host"
start_accessory bt:hci0
for i in 1 2 3; do
  easim send unix:/tmp/outer.sock --10k --expect echo --timeout 60s >/tmp/send 2>&1 ||
    fail "send $i: $(cat /tmp/send /tmp/bumble.log /tmp/accessory.log)"
done
grep -q '^paired' /tmp/bumble.log || fail "bumble: $(cat /tmp/bumble.log)"
easim burst unix:/tmp/outer.sock --count 10 --timeout 60s >/tmp/burst 2>&1 || fail "burst: $(cat /tmp/burst /tmp/bumble.log)"
