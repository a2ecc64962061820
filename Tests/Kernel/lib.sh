# Functions that the tests of the kernel lane share; sourced as /easim/lib.sh.
set -eu

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect WHAT COMMAND...: expects the command to succeed.
expect() {
  what=$1
  shift
  "$@" || fail "$what: '$*' ended with $?"
}

# unhurried SCENARIO: writes /tmp/SCENARIO.json5, the scenario without the times before which its events must happen. On a
# busy machine this kernel takes longer to attach a device than the scenario allows.
unhurried() {
  easim scenario show "$1" --file | sed -E 's/, before: "[^"]*"//' >"/tmp/$1.json5"
}

# until_true SECONDS WHAT COMMAND...: waits until the command succeeds.
until_true() {
  seconds=$1
  what=$2
  shift 2
  tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt $((seconds * 20)) ] || fail "$what: not within $seconds s"
    usleep 50000
  done
}

# suite MEDIUM NAME: expects a suite of ChannelsOnHardware to pass; otherwise, prints which checks failed, and during
# which check the suite stopped.
suite() {
  ChannelsOnHardware "$@" >/tmp/suite 2>&1 || fail "$(sed -e '/^✔/d' -e '$!{/^…/d;}' /tmp/suite)"
  sed -n 's/^\([0-9]* checks\)/measured: \1/p' /tmp/suite
}
