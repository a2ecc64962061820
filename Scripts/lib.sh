# What the scripts share: messages, and installing what building easim needs.
# Sourced, not run; the sourcing script has set strict mode and is in the root of the repository from here on.
# All messages go to stderr: stdout belongs to the program that a script runs in the end.
# shellcheck shell=bash

script="Scripts/$(basename -- "$0")"
readonly script
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." || exit

# The oldest Swift that this package is built and tested with.
readonly needed_swift=6.3

say() {
  printf '%s: %s\n' "$script" "$*" >&2
}

# Wrong usage, or a machine that cannot be used: exit code 2, as with easim itself.
die() {
  say "$*"
  exit 2
}

# Fails unless a Swift compiler that is new enough is on the PATH.
require_swift() {
  local said version
  command -v swift >/dev/null || die "there is no 'swift' on the PATH: easim needs Swift $needed_swift or later, see https://www.swift.org/install/linux"
  # Without the packages that Swift itself needs, it does not even start.
  said=$(swift --version 2>&1) || die "'swift --version' fails: $said; install what https://www.swift.org/install/linux lists for Debian"
  version=$(sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' <<<"$said" | head -n 1)
  [[ -n $version ]] || die "'swift --version' names no version; is $(command -v swift) a Swift compiler?"
  if [[ $(printf '%s\n' "$needed_swift" "$version" | sort -V | head -n 1) != "$needed_swift" ]]; then
    die "Swift $version is too old: easim needs $needed_swift or later, see https://www.swift.org/install/linux"
  fi
}

# The Debian packages that building easim needs and this machine lacks, one per line.
missing_packages() {
  if ! command -v pkg-config >/dev/null; then
    printf 'pkg-config\nlibssl-dev\nlibusb-1.0-0-dev\nlibudev-dev\nlibsystemd-dev\nlibmicrohttpd-dev\n'
    return
  fi
  pkg-config --exists libcrypto || printf 'libssl-dev\n'
  pkg-config --exists libusb-1.0 || printf 'libusb-1.0-0-dev\n'
  pkg-config --exists libudev || printf 'libudev-dev\n'
  pkg-config --exists libsystemd || printf 'libsystemd-dev\n'
  pkg-config --exists libmicrohttpd || printf 'libmicrohttpd-dev\n'
}

# What linking Swift's own libraries into a program needs: they are C++, and Swift's list for Debian has only gcc.
missing_linking_packages() {
  [[ -n $(find /usr/lib/gcc -name libstdc++.a 2>/dev/null) ]] || printf 'g++\n'
}

# What the tests need as well: mock USB devices, D-Bus for a mock of BlueZ, and a signer that calls openssl.
missing_test_packages() {
  missing_packages
  command -v dbus-daemon >/dev/null || printf 'dbus\n'
  command -v openssl >/dev/null || printf 'openssl\n'
  command -v umockdev-wrapper >/dev/null || printf 'umockdev\n'
  pkg-config --exists umockdev-1.0 2>/dev/null || printf 'libumockdev-dev\n'
}

# The Debian packages that a guest needs and this machine lacks, one per line.
missing_guest_packages() {
  command -v qemu-system-x86_64 >/dev/null || printf 'qemu-system-x86\n'
  [[ -x /bin/busybox ]] && ! ldd /bin/busybox >/dev/null 2>&1 || printf 'busybox-static\n'
  command -v python3 >/dev/null || printf 'python3\n'
  command -v zstd >/dev/null || printf 'zstd\n'
  command -v dbus-daemon >/dev/null || printf 'dbus\n'
  [[ -x /usr/libexec/bluetooth/bluetoothd ]] || printf 'bluez\n'
  command -v btvirt >/dev/null || printf 'bluez-test-tools\n'
  # For bumble, a Bluetooth stack from PyPI.
  python3 -m pip --version >/dev/null 2>&1 || printf 'python3-pip\n'
}

# What checking the text of the repository needs: the program's own script is checked too, so the program is built.
missing_lint_packages() {
  missing_packages
  command -v shellcheck >/dev/null || printf 'shellcheck\n'
}

# The Debian packages that counting instructions needs and this machine lacks, one per line.
missing_counting_packages() {
  command -v valgrind >/dev/null || printf 'valgrind\n'
  command -v strip >/dev/null || printf 'binutils\n'
}

# The same for reading pages in a browser.
missing_browser_packages() {
  command -v chromium >/dev/null || printf 'chromium\n'
  command -v chromedriver >/dev/null || printf 'chromium-driver\n'
  command -v python3 >/dev/null || printf 'python3\n'
}

require_packages() {
  install_packages missing_packages
}

require_test_packages() {
  install_packages missing_test_packages
}

require_lint_packages() {
  install_packages missing_lint_packages
}

require_counting_packages() {
  install_packages missing_counting_packages
}

require_browser_packages() {
  install_packages missing_browser_packages
}

require_guest_packages() {
  [[ $(uname -m) == x86_64 ]] || die "the kernel lane boots Debian's amd64 kernel, and this machine is a $(uname -m)"
  install_packages missing_guest_packages
}

# Installs the packages that the function lists, and prints their names first.
install_packages() {
  local missing=() as_root=()
  mapfile -t missing < <("$1")
  ((${#missing[@]} > 0)) || return 0
  command -v apt-get >/dev/null || die "missing: ${missing[*]} (Debian's names), and there is no apt-get here to install them; install them, then run $script again"
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "missing: ${missing[*]}; as root run 'apt-get install ${missing[*]}', then run $script again"
    as_root=(sudo)
  fi
  say "installing what is missing: ${missing[*]}"
  "${as_root[@]}" apt-get update -q >&2 </dev/null || die "'apt-get update' failed, see above"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" \
    >&2 </dev/null || die "apt-get could not install ${missing[*]}, see above"
}

# Runs a command that may print nothing for a long time, and prints now and then that it still runs. SwiftPM shows its own
# progress, one line per step where there is no terminal, but an optimised module is one step of a minute or more.
with_heartbeat() {
  local what=$1 status=0 beat
  shift
  if [[ -t 2 ]]; then
    "$@"
    return
  fi
  (
    seconds=0
    # Waits on a pipe that never gets data: unlike 'sleep' this leaves no process behind.
    exec {never}<> <(:)
    while kill -0 "$$" 2>/dev/null; do
      read -r -t 20 -u "$never" || true
      seconds=$((seconds + 20))
      say "$what, $seconds s so far"
    done
  ) &
  beat=$!
  "$@" || status=$?
  kill "$beat" 2>/dev/null || true
  wait "$beat" 2>/dev/null || true
  return "$status"
}

# Exports the commit and its day, for 'easim --version', and its time, for reproducible archives. Outside of a clone they stay
# as they are given, or unknown.
name_commit() {
  [[ -z ${EASIM_COMMIT:-} ]] && git rev-parse --git-dir >/dev/null 2>&1 || return 0
  EASIM_COMMIT=$(git rev-parse --short=12 HEAD)
  git diff --quiet HEAD -- || EASIM_COMMIT+=-changed
  EASIM_DATE=$(TZ=UTC0 git log -1 --format=%cd --date=format-local:%Y-%m-%d)
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
  export EASIM_COMMIT EASIM_DATE SOURCE_DATE_EPOCH
}

# Builds a program that needs no Swift on the machine it runs on: build_alone NAME makes .build/install/release/NAME. It has
# no debug information, which takes the compiler a tenth of its time; the names that backtraces print are in its symbol table.
build_alone() {
  install_packages missing_linking_packages
  name_commit
  with_heartbeat "still building" env SWIFT_EXEC="$PWD/Scripts/size/swiftc" \
    swift build --configuration release --product "$1" --static-swift-stdlib -debug-info-format none \
    -Xswiftc -use-ld=lld -Xswiftc -Xfrontend -Xswiftc -function-sections -Xlinker --icf=all -Xlinker --build-id=sha1 \
    -Xlinker --no-eh-frame-hdr -Xlinker "-T$PWD/Scripts/size/no-unwinding.ld" -Xlinker --no-export-dynamic \
    --scratch-path .build/install
}
