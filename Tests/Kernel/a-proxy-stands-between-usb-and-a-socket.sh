# modules: vhci
# The proxy connects to an accessory on USB and appears at a socket, and the other way round; sessions work through both,
# and a fault disturbs only its direction.
. /easim/lib.sh

# leg ACCESSORY'S-PLACE ACCESSORY DEVICE [OPTIONS]: starts an accessory, and a proxy between its address and the device's.
leg() {
  place=$1 accessory=$2 device=$3
  shift 3
  easim run lawk-view --on "$place" >/tmp/run 2>&1 &
  run=$!
  until_true 60 "the accessory" grep -q "plugged in" /tmp/run
  if [ "$accessory" = usb: ]; then plug_in "$place"; fi
  easim proxy --accessory "$accessory" --device "$device" --capture /tmp/proxy.pcapng "$@" >/tmp/proxy 2>&1 &
  proxy=$!
  # "+ cable at" for a socket, "+ plugged in at" for USB.
  until_true 60 "the proxy has the accessory" grep -q "accessory  + " /tmp/proxy
}

plug_in() {
  easim plug "$1" >/tmp/plug 2>&1 &
  plug=$!
  until_true 60 "the device" easim list usb:
}

send_twice() {
  for i in 1 2; do
    easim send "$1" --10k --expect echo --timeout 60s >/tmp/send 2>&1 || fail "send $i: $(cat /tmp/send /tmp/proxy /tmp/run)"
  done
}

# end_leg PATTERN: ends the proxy and the rest, and expects the pattern in the statistics of its capture.
end_leg() {
  kill -INT "$proxy"
  wait "$proxy" || fail "the proxy: $(cat /tmp/proxy)"
  easim decode --stats /tmp/proxy.pcapng >/tmp/decoded 2>&1 || fail "the capture: $(tail -5 /tmp/decoded)"
  grep -q "$1" /tmp/decoded || fail "no '$1': $(cat /tmp/decoded)"
  kill -INT "$plug" "$run"
  wait "$plug" "$run" || true
}

leg usbip:127.0.0.1:3240 usb: unix:/tmp/a.sock
send_twice unix:/tmp/a.sock
end_leg "cable 2 A .* 10,000 bytes of sessions"
easim decode --check /tmp/proxy.pcapng >/tmp/decoded 2>&1 || fail "the capture: $(tail -5 /tmp/decoded)"

leg unix:/tmp/b.sock unix:/tmp/b.sock usbip:127.0.0.1:3241 --fault duplicate,chance=100%,direction=in
plug_in usbip:127.0.0.1:3241
send_twice usb:
end_leg "cable 1 A .* [1-9][0-9]* retransmissions"
grep -q "cable 1 D .* 0 retransmissions" /tmp/decoded || fail "the wrong direction: $(cat /tmp/decoded)"
