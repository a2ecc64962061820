# Functions for the Bluetooth tests; sourced as /easim/bluetooth.sh. There are two virtual controllers, hci0 and hci1,
# and BlueZ. The lane installs the programs for every test with "# modules: bt".
# shellcheck disable=SC2034  # The variables are for the tests.
. /easim/lib.sh

# adapter_property hci0 Powered
adapter_property() {
  dbus-send --system --print-reply=literal --dest=org.bluez "/org/bluez/$1" \
    org.freedesktop.DBus.Properties.Get string:org.bluez.Adapter1 "string:$2" 2>/dev/null
}

# set_adapter hci0 Powered boolean:true
set_adapter() {
  dbus-send --system --print-reply --dest=org.bluez "/org/bluez/$1" \
    org.freedesktop.DBus.Properties.Set string:org.bluez.Adapter1 "string:$2" "variant:$3" >/dev/null ||
    fail "$1 $2 $3: $(tail -5 /tmp/bluetoothd.log)"
}

address_of() { adapter_property "$1" Address | grep -o '[0-9A-F][0-9A-F]:[0-9A-F:]*'; }

# The adapters that BlueZ uses; a test that gives an adapter to another stack changes this variable.
adapters="hci0 hci1"
has_adapters() { for adapter in $adapters; do adapter_property "$adapter" Address || return 1; done; }

start_bluetoothd() {
  /usr/libexec/bluetooth/bluetoothd -n >>/tmp/bluetoothd.log 2>&1 &
  bluetoothd=$!
  until_true 30 "bluetoothd has $adapters" has_adapters
}

# has_crashed: bluetoothd has ended with a signal, other than the one by which a test kills it.
has_crashed() {
  [ -n "${bluetoothd:-}" ] && ! kill -0 "$bluetoothd" 2>/dev/null || return 1
  ended=0
  wait "$bluetoothd" || ended=$?
  [ $ended -gt 128 ] && [ $ended != 137 ] || return 1
  echo "bluetoothd crashed with signal $((ended - 128)): $(tail -3 /tmp/bluetoothd.log)" >&2
}

# restart_crashed_bluetoothd: for a test in which BlueZ is known to crash.
restart_crashed_bluetoothd() {
  if has_crashed; then
    echo "measured: bluetoothd crashed, and was started again"
    start_bluetoothd
  fi
}

# Any other crash of BlueZ is no result of the test: the guest ends with 75, and the lane runs the test once more.
report_crash() {
  code=$?
  if [ $code != 0 ] && has_crashed; then code=75; fi
  exit $code
}
trap report_crash EXIT

# start_controllers: starts a D-Bus, and two virtual controllers that no program uses yet.
start_controllers() {
  mkdir -p /run/dbus /var/lib/bluetooth /etc/dbus-1/system.d
  dbus-daemon --config-file=/easim/bus.conf --fork --nopidfile --nosyslog || fail "no D-Bus"
  export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket
  LD_PRELOAD=/easim/one_event.so btvirt -l2 >/tmp/btvirt.log 2>&1 &
  btvirt=$!
  until_true 10 "two virtual controllers" test -e /sys/class/bluetooth/hci1
}

start_bluetooth() {
  start_controllers
  start_bluetoothd
  set_adapter hci0 Powered boolean:true
  set_adapter hci1 Powered boolean:true
  host=$(address_of hci0)
  accessory=$(address_of hci1)
  echo "host at $host, accessory at $accessory"
}

# start_accessory ADDRESS [OPTIONS]: starts a simulated accessory in the background, and waits until it is plugged in.
start_accessory() {
  where=$1
  shift
  easim run lawk-view --on "$where" "$@" >/tmp/accessory.log 2>&1 &
  run=$!
  until_true 20 "the accessory is plugged in: $(cat /tmp/accessory.log)" grep -q 'plugged in' /tmp/accessory.log
}

# pair_machines: pairs the accessory on hci1 with the host on hci0.
pair_machines() {
  easim pair "bt:hci0#$accessory" --yes --timeout 30s >/tmp/pair.log 2>&1 ||
    fail "pairing: $(cat /tmp/pair.log /tmp/accessory.log) $(tail -5 /tmp/bluetoothd.log)"
}

# pair_once [OPTIONS]: pairs an accessory on hci1, run with these options, with the host on hci0.
pair_once() {
  start_bluetooth
  start_accessory bt:hci1 "$@"
  pair_machines
}

# stop_accessory: interrupts the accessory as Ctrl-C does, and expects a clean exit.
stop_accessory() {
  kill -INT "$run"
  wait "$run" || fail "run ended with $?: $(cat /tmp/accessory.log)"
}

# ends_with CODE COMMAND...: expects this exit code from the command; its output is in /tmp/ended.
ends_with() {
  wanted=$1
  shift
  code=0
  "$@" >/tmp/ended 2>&1 || code=$?
  [ $code = "$wanted" ] || fail "'$*' ended with $code and not $wanted: $(cat /tmp/ended)"
}

# start_bumble ROLE WORDS...: lets bumble take hci1 before bluetoothd can; its address is in $other.
start_bumble() {
  adapters=hci0
  other=$(hciconfig hci1 | sed -n 's/.*BD Address: \([^ ]*\).*/\1/p')
  python3 /easim/bumble_end.py "$@" >/tmp/bumble.log 2>&1 &
  bumble=$!
  until_true 60 "bumble is ready" grep -q '^ready' /tmp/bumble.log
  start_bluetoothd
  set_adapter hci0 Powered boolean:true
}
