# modules: bt
# with: .build/install/release/EADemoClient=/easim/bin/EADemoClient
# With EASIM_ENDPOINTS=bt: an app that uses Apple's API finds the paired accessory, and 10,000 bytes come back, even
# after a flicker.
. /easim/bluetooth.sh
pair_once

# app_works: the app sends 10K and gets them back; the app's output is in /tmp/ended.
app_works() {
  ends_with 0 env EASIM_ENDPOINTS=bt:hci0 timeout 60 EADemoClient com.lawaken.iap2 10k
  grep -q '^10000 bytes came back unchanged' /tmp/ended || fail "app: $(cat /tmp/ended)"
}

app_works
app_works
stop_accessory
start_accessory bt:hci1 --quirk flicker
app_works
[ "$(grep -c '^connected: ' /tmp/ended)" = 2 ] || fail "the app sees the flicker: $(cat /tmp/ended)"
