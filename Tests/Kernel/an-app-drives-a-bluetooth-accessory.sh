# modules: bt
# with: .build/install/release/EADemoClient=/easim/bin/EADemoClient
# An app on Apple's API with EASIM_ENDPOINTS=bt: finds the paired accessory, and 10,000 bytes come back; through a flicker, too.
. /easim/bluetooth.sh
pair_once

# app_works: the app exchanges its 10K; what it printed is in /tmp/ended.
app_works() {
  ends_with 0 env EASIM_ENDPOINTS=bt:hci0 timeout 60 EADemoClient com.lawaken.iap2 10k
  grep -q '^10000 bytes came back as they were sent' /tmp/ended || fail "app: $(cat /tmp/ended)"
}

app_works
app_works
stop_accessory
start_accessory bt:hci1 --quirk flicker
app_works
[ "$(grep -c '^connected: ' /tmp/ended)" = 2 ] || fail "the app sees the flicker: $(cat /tmp/ended)"
