# modules: bt
# The proxy connects to an accessory on Bluetooth and appears at a socket, and the other way round; sessions work through both.
. /easim/bluetooth.sh

# leg ACCESSORY DEVICE: starts a proxy between two addresses.
leg() {
  easim proxy --accessory "$1" --device "$2" >/tmp/proxy 2>&1 &
  proxy=$!
  # "+ cable at" for a socket, "+ plugged in at" for Bluetooth.
  until_true 60 "the proxy has the accessory" grep -q "accessory  + " /tmp/proxy
}

send_twice() {
  for i in 1 2; do
    easim send "$1" --10k --expect echo --timeout 60s >/tmp/send 2>&1 ||
      fail "send $i: $(cat /tmp/send /tmp/proxy /tmp/accessory.log)"
  done
}

pair_once
leg bt:hci0 unix:/tmp/a.sock
send_twice unix:/tmp/a.sock
kill -INT $proxy
wait $proxy || fail "the proxy: $(cat /tmp/proxy)"
stop_accessory

easim run lawk-view --on unix:/tmp/b.sock >/tmp/accessory.log 2>&1 &
until_true 20 "an accessory on a socket" test -e /tmp/b.sock
leg unix:/tmp/b.sock bt:hci1
send_twice bt:hci0
