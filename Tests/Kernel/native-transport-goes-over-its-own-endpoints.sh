# On a real kernel, each native-transport session has an interface of its own: alternate setting 1 is selected while the
# session is open, and alternate setting 0 when it is closed, even if the program is killed. 10,000 bytes pass over the
# interface's endpoints two hundred times, and every byte is compared. Closing either side, or pulling the cable, has
# the same effect as on every other channel.
. /easim/lib.sh
frames=com.example.camera.frames
run() { # ARGUMENT...: the camera, plugged in
  : >/tmp/run
  easim run camera --on usbip:127.0.0.1:3240 --json "$@" >/tmp/run 2>/tmp/run.err &
  run=$!
  until_true 60 "the accessory" grep -q '"event":"attach"' /tmp/run
  easim plug usbip:127.0.0.1:3240 >/tmp/plug 2>&1 &
  plug=$!
  until_true 60 "the device" easim list usb:
}
stop() {
  kill -INT $plug $run
  wait $plug $run || fail "they ended with $?: $(cat /tmp/plug /tmp/run.err)"
}
closed() { [ "$(grep -c '"event":"session.close"' /tmp/run)" -eq "$1" ]; }

run
until_true 60 "the interface" grep -qx $frames /sys/bus/usb/devices/*/interface
native=$(grep -lx $frames /sys/bus/usb/devices/*/interface)
alternate() { [ "$(tr -d ' ' <"${native%/*}/bAlternateSetting")" = "$1" ]; }
expect "no session, no endpoints" alternate 0
easim send usb: --protocol $frames --10k --expect echo --timeout 30s --transcript /tmp/wire >/tmp/send 2>&1 ||
  fail "send: $(cat /tmp/send)"
grep -q "D SIDE $frames 10000 bytes" /tmp/wire || fail "it went another way: $(cat /tmp/wire)"
grep -q "session=1 EA00" /tmp/wire && fail "the link was asked for it: $(cat /tmp/wire)"
until_true 60 "alternate 0 after the session" alternate 0
easim send usb: --protocol com.example.camera.control --text linked --expect echo --timeout 30s >/tmp/send 2>&1 ||
  fail "send over the link: $(cat /tmp/send)"
easim burst usb: --protocol $frames --count 200 --timeout 60s >/tmp/burst 2>&1 || fail "burst: $(cat /tmp/burst)"
sed 's/^/measured: /' /tmp/burst
easim burst usb: --protocol $frames --count 20 --verify none --timeout 60s >/tmp/burst 2>&1 ||
  fail "burst without an answer: $(cat /tmp/burst)"

# Sessions are opened, closed and opened again by hand.
printf '%s\n' "open $frames" "string hello" "wait 5" close "open $frames" 10k "wait 10000" quit >/tmp/lines
easim console usb: --timeout 30s </tmp/lines >/tmp/console 2>&1 || fail "console: $(cat /tmp/console)"
[ "$(grep -cE "^session (2 )?open on $frames" /tmp/console)" -eq 2 ] || fail "console: $(cat /tmp/console)"
grep -q "sent 10000 bytes, received 10000 bytes" /tmp/console || fail "console: $(cat /tmp/console)"

# Only one session can be open at a time.
easim burst usb: --protocol $frames --count 1 --sessions 2 --timeout 8s >/tmp/burst 2>&1 &&
  fail "two sessions were on one pair of endpoints: $(cat /tmp/burst)"
grep -q "another session uses its native channel" /tmp/burst || fail "no reason was given: $(cat /tmp/burst)"

# A killed program cannot select alternate setting 0; the kernel does so instead, and the accessory is notified.
until_true 60 "every session's end" closed 7
easim burst usb: --protocol $frames --for 60s >/tmp/burst 2>&1 &
burst=$!
until_true 60 "alternate 1 in a session" alternate 1
kill -KILL "$burst"
until_true 60 "the end of a killed program's session" closed 8
until_true 60 "alternate 0 after it" alternate 0
until_true 60 "the departure of a program without a word" grep -q "stopped reading" /tmp/run

# The cable is pulled in the middle of a transfer.
easim burst usb: --protocol $frames --for 60s >/tmp/burst 2>&1 &
burst=$!
until_true 60 "a session to pull" alternate 1
kill -INT $plug
wait $plug || fail "plug ended with $?: $(cat /tmp/plug)"
status=0
wait "$burst" || status=$?
[ $status -eq 5 ] || fail "the burst ended with $status: $(cat /tmp/burst)"
kill -INT "$run"

# The accessory closes the session by halting its endpoints.
run --quirk session,close,delay=500ms
easim burst usb: --protocol $frames --for 60s >/tmp/burst 2>&1 && fail "the burst went on: $(cat /tmp/burst)"
grep -q "the accessory closed it" /tmp/burst || fail "no reason was given: $(cat /tmp/burst)"
# When the session opens again, alternate settings 0 and 1 are selected again, which resets the endpoints.
easim burst usb: --protocol $frames --for 5s --reconnect --allow-lost >/tmp/burst 2>&1 || fail "it did not go on: $(cat /tmp/burst)"
[ "$(grep -c '"event":"session.open"' /tmp/run)" -ge 4 ] || fail "it was not opened again: $(cat /tmp/burst)"
stop
