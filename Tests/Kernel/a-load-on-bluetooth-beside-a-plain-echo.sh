# modules: bt
# with: Tests/Kernel/bluetooth.sh=/easim/bluetooth.sh
# with: Tests/Kernel/bus.conf=/easim/bus.conf
# with: /usr/bin/dbus-daemon=/usr/bin/dbus-daemon
# with: /usr/bin/dbus-send=/usr/bin/dbus-send
# with: /usr/bin/btvirt=/usr/bin/btvirt
# with: /usr/libexec/bluetooth/bluetoothd=/usr/libexec/bluetooth/bluetoothd
# c: Tests/Kernel/rfcomm_echo.c=/easim/bin/rfcomm_echo
# Measures 10,000 bytes echoed over RFCOMM, without iAP2 and with it.
. /easim/lib.sh
. /easim/bluetooth.sh
start_bluetooth
start_accessory bt:hci1
pair_machines

rfcomm_echo serve 25 &
until_true 10 "a plain echo" rfcomm_echo measure "$host" "$accessory" 25 1
for _ in 1 2; do
  echo "measured: plain echo: $(rfcomm_echo measure "$host" "$accessory" 25 100)"
  easim burst bt:hci0 --count 100 --timeout 120s >/tmp/burst 2>&1 || fail "burst: $(cat /tmp/burst)"
  sed -n 's/^  throughput */measured: easim: /p; s/^  latency */measured: easim: /p' /tmp/burst
done
