# with: Tests/Kernel/usb_host.py=/easim/usb_host.py
# python: Tests/Kernel/usb_host.py
# The fixture easim_host of the Python package drives a gadget of this kernel: pytest --easim-at usb:
. /easim/lib.sh
export EASIM=/easim/bin/easim PYTHONDONTWRITEBYTECODE=1
easim run echo --on gadget: >/tmp/run 2>&1 &
run=$!
until_true 60 "the accessory" easim list usb:

cd /tmp || fail "there is no /tmp"
python3 /easim/usb_host.py -k sessions >/tmp/pytest 2>&1 || fail "pytest ended with $?: $(cat /tmp/pytest)"
grep -q "1 passed" /tmp/pytest || fail "pytest: $(cat /tmp/pytest)"
sed -n 's/^measured: /&/p' /tmp/pytest

# The output of a failed test shows what happened on the cable.
if python3 /easim/usb_host.py -k wrong >/tmp/pytest 2>&1; then fail "a wrong test passed: $(cat /tmp/pytest)"; fi
grep -q "easim timeline" /tmp/pytest || fail "there is no timeline: $(cat /tmp/pytest)"
grep -q "device .*connect" /tmp/pytest || fail "the timeline: $(cat /tmp/pytest)"

# The program ended when pytest ended, so others can use the accessory.
easim send usb: --10k --expect echo --timeout 60s >/tmp/send 2>&1 || fail "after pytest: $(cat /tmp/send)"
kill -INT "$run"
wait "$run" || fail "the accessory ended with $?: $(cat /tmp/run)"

# Without an accessory, the tests fail and state the reason, because dead firmware must not pass the suite.
if python3 /easim/usb_host.py --easim-timeout 1 -k sessions >/tmp/pytest 2>&1; then fail "it passed: $(cat /tmp/pytest)"; fi
grep -q "no accessory at usb: within 1 s" /tmp/pytest || fail "no reason: $(cat /tmp/pytest)"
