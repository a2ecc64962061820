# modules: bt
# with: Tests/Kernel/bluetooth.sh=/easim/bluetooth.sh
# with: Tests/Kernel/bus.conf=/easim/bus.conf
# with: Tests/Kernel/bumble_end.py=/easim/bumble_end.py
# with: /usr/bin/dbus-daemon=/usr/bin/dbus-daemon
# with: /usr/bin/dbus-send=/usr/bin/dbus-send
# with: /usr/bin/btvirt=/usr/bin/btvirt
# with: /usr/bin/hciconfig=/usr/bin/hciconfig
# with: /usr/libexec/bluetooth/bluetoothd=/usr/libexec/bluetooth/bluetoothd
# python: Tests/Kernel/bumble_end.py
# The host, by BlueZ, drives an accessory whose Bluetooth is PyPI's bumble: what a scan shows, pairing, SDP, RFCOMM, a session.
. /easim/lib.sh
. /easim/bluetooth.sh

# btvirt, which plays the controllers, sometimes dies while bumble holds one of them. That says nothing of easim, so all of it
# is tried again; with btvirt alive a failure is one.
if [ -z "${tried:-}" ]; then
  for tried in 1 2 3; do
    export tried
    sh "$0" >/tmp/try 2>&1 && exec cat /tmp/try
    pidof btvirt >/dev/null && break
    echo "measured: btvirt died in try $tried"
    for name in easim python3 bluetoothd dbus-daemon; do pidof "$name" >/dev/null && killall -9 "$name"; done
    rm -rf /run/dbus /var/lib/bluetooth /tmp/inner.sock
    sleep 1
  done
  fail "$(cat /tmp/try)"
fi

start_controllers
easim run lawk-view --on unix:/tmp/inner.sock >/tmp/accessory.log 2>&1 &
until_true 20 "the accessory behind bumble" test -e /tmp/inner.sock
start_bumble accessory /tmp/inner.sock

easim pair bt:hci0 --timeout 8s >/tmp/scan 2>&1 || fail "scan: $(cat /tmp/scan /tmp/bumble.log)"
grep -q "$other .* accessory .* bumble's accessory" /tmp/scan || fail "scan: $(cat /tmp/scan)"
easim pair "bt:$other" --yes --timeout 30s >/tmp/pair.log 2>&1 || fail "pair: $(cat /tmp/pair.log /tmp/bumble.log)"
easim info bt: --timeout 30s >/tmp/info 2>&1 || fail "info: $(cat /tmp/info /tmp/bumble.log)"
grep -q com.lawaken.iap2 /tmp/info || fail "info: $(cat /tmp/info)"
for i in 1 2 3; do
  easim send bt: --10k --expect echo --timeout 30s >/tmp/send 2>&1 || fail "send $i: $(cat /tmp/send /tmp/bumble.log)"
done
easim burst bt: --count 10 --timeout 60s >/tmp/burst 2>&1 || fail "burst: $(cat /tmp/burst /tmp/bumble.log)"
