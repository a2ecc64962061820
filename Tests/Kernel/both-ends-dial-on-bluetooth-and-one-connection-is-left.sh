# modules: bt
# An accessory dials its host, and then both dial at once: one connection remains, and that connection works.
. /easim/bluetooth.sh
pair_once
stop_accessory

start_accessory "bt:hci1,dial=$host"
# The host accepts the accessory's connection, and dials the accessory as well.
for i in 1 2 3; do
  easim send "bt:hci0#$accessory" --10k --expect echo --timeout 30s >/tmp/send 2>&1 ||
    fail "send $i: $(cat /tmp/send /tmp/accessory.log)"
  [ "$(grep -c '● connect' /tmp/send)" = 1 ] || fail "one connect: $(cat /tmp/send)"
done
stop_accessory
