# modules: bt
# A simulated accessory runs on one controller; a host on the other controller pairs with the accessory and drives it.
# sample
. /easim/bluetooth.sh
start_bluetooth
settings() { for name in Alias Pairable Discoverable DiscoverableTimeout; do adapter_property hci1 $name; done; }
before=$(settings)
start_accessory bt:hci1
pair_machines
grep -q "^paired: 李未可" /tmp/pair.log || fail "pair: $(cat /tmp/pair.log)"

# On one machine, both adapters show the accessory's record, so the address names the host's adapter, hci0.
easim list bt:hci0 >/tmp/list 2>&1 || fail "list: $(cat /tmp/list)"
grep -q "$accessory" /tmp/list || fail "list: $(cat /tmp/list)"
easim info bt:hci0 >/tmp/info 2>&1 || fail "info: $(cat /tmp/info)"
grep -q com.lawaken.iap2 /tmp/info || fail "info: $(cat /tmp/info)"
easim send "bt:hci0#$accessory" --10k --expect echo >/tmp/send 2>&1 || fail "send: $(cat /tmp/send)"
start=$(cut -d' ' -f1 /proc/uptime)
easim burst bt:hci0 --count 200 --timeout 120s >/tmp/burst 2>&1 || fail "burst: $(cat /tmp/burst)"
echo "measured: 200 bursts of 10,000 bytes from $start to $(cut -d' ' -f1 /proc/uptime) s of uptime"
grep -E 'throughput|latency' /tmp/burst | sed 's/^/measured: /'

# Ctrl-C withdraws the service and restores the adapter's settings.
stop_accessory
has_its_settings() { [ "$(settings)" = "$before" ]; }
until_true 5 "the adapter has its name and settings again" has_its_settings
easim send bt:hci0 --10k --timeout 3s >/tmp/send 2>&1 && fail "nobody was there: $(cat /tmp/send)"
code=$?
[ $code = 3 ] || fail "exit code $code and not 3: $(cat /tmp/send)"
easim unpair "bt:$accessory" || fail "unpair"
easim list bt:hci0 >/tmp/list 2>&1 && fail "unpaired, and listed: $(cat /tmp/list)"
[ $? = 3 ] || fail "list: $(cat /tmp/list)"
