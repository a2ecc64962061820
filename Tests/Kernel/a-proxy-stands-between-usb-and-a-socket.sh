# modules: vhci
# The proxy connects to an accessory on USB and appears at a socket, and the other way round; sessions work through both.
. /easim/lib.sh

# leg ACCESSORY'S-PLACE ACCESSORY DEVICE: starts an accessory, and a proxy between its address and the device's.
leg() {
  easim run lawk-view --on "$1" >/tmp/run 2>&1 &
  run=$!
  until_true 60 "the accessory" grep -q "plugged in" /tmp/run
  if [ "$2" = usb: ]; then plug_in "$1"; fi
  easim proxy --accessory "$2" --device "$3" --capture /tmp/proxy.pcapng >/tmp/proxy 2>&1 &
  proxy=$!
  until_true 60 "the proxy: $(cat /tmp/proxy)" grep -q "accessory .*+ cable at" /tmp/proxy
}

plug_in() {
  easim plug "$1" >/tmp/plug 2>&1 &
  plug=$!
  until_true 60 "the device: $(cat /tmp/plug)" easim list usb:
}

send_twice() {
  for i in 1 2; do
    easim send "$1" --10k --expect echo --timeout 60s >/tmp/send 2>&1 || fail "send $i: $(cat /tmp/send /tmp/proxy /tmp/run)"
  done
}

leg usbip:127.0.0.1:3240 usb: unix:/tmp/a.sock
send_twice unix:/tmp/a.sock
kill -INT $proxy
wait $proxy || fail "the proxy: $(cat /tmp/proxy)"
easim decode --check /tmp/proxy.pcapng >/tmp/decoded 2>&1 || fail "the capture: $(tail -5 /tmp/decoded)"
kill -INT "$plug" "$run"
wait "$plug" "$run" || true

leg unix:/tmp/b.sock unix:/tmp/b.sock usbip:127.0.0.1:3241
plug_in usbip:127.0.0.1:3241
send_twice usb:
kill -INT "$plug" "$proxy" "$run"
