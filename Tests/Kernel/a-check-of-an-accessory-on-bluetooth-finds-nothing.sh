# modules: bt
# Runs every case of 'easim check' on an accessory without quirks: none of the cases fails on Bluetooth.
. /easim/bluetooth.sh
pair_once
start=$(cut -d. -f1 /proc/uptime)
ends_with 0 easim check bt:hci0 --timeout 30s
echo "measured: $(tail -n 1 /tmp/ended), in $(($(cut -d. -f1 /proc/uptime) - start)) s"
