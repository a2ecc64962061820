# Runs 'easim check' through libusb and udev on an accessory that is a gadget on this kernel's own device port
# (dummy_hcd): a correct profile passes, and a broken profile fails in the expected case. Cases that time the accessory
# are omitted, because a guest on a busy machine delays the accessory.
. /easim/lib.sh
cases=101,201-211,301,501,502,504-507,601,603,621-638,701-703,712,801

# check NAME OF OUTPUT, PROFILE AND OPTIONS OF RUN...: sets $status to the exit code of the check.
check() {
  output=$1
  shift
  easim run "$@" --on gadget: >/tmp/run 2>&1 &
  run=$!
  until_true 60 "the accessory" easim list usb:
  status=0
  easim check usb: --only "$cases" --pace 0ms --echo yes --timeout 60s >"$output" 2>&1 || status=$?
  kill -INT "$run"
  wait "$run" || fail "the accessory ended with $?: $(cat /tmp/run)"
}

check /tmp/clean echo
[ "$status" -eq 0 ] || fail "a clean profile fails ($status): $(cat /tmp/clean; cat /tmp/run)"
grep -q " 0 failed" /tmp/clean || fail "no summary: $(cat /tmp/clean)"
sed -n 's/^\([0-9]* passed\)/measured: \1/p' /tmp/clean

check /tmp/broken echo --quirk authentication,wrong
[ "$status" -eq 1 ] || fail "a wrong signature ended with $status: $(cat /tmp/broken)"
grep -q "FAILED   506" /tmp/broken || fail "a wrong signature is not found: $(cat /tmp/broken)"

check /tmp/refused echo --quirk session,refuse
[ "$status" -eq 1 ] || fail "a refused session ended with $status: $(cat /tmp/refused)"
grep -q "FAILED   701" /tmp/refused || fail "a refused session is not found: $(cat /tmp/refused)"
