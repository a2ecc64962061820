// Runs ChannelSuite and DeathSuite on USB or Bluetooth, in a guest of the kernel lane. The checks are the same as in
// `swift test`. One end is the host (libusb, or an RFCOMM socket), and the other is a simulated accessory.
//
//   ChannelsOnHardware usbip channels|deaths [WORD…]     as root; needs vhci_hcd. WORD: a part of the checks' names
//   ChannelsOnHardware gadget channels|deaths [WORD…]    needs dummy_hcd and FunctionFS
//   ChannelsOnHardware bluetooth channels|deaths [WORD…] needs BlueZ, and hci0 paired with hci1

import ChannelSuite
import Glibc

let media: [String: (ChannelFactory, DeathFactory)] = [
  "usbip": (.usbip, .usbip), "gadget": (.gadget, .gadget),
  "bluetooth": (BluetoothRig.channels, BluetoothRig.deaths),
]

/// Writes a line immediately. Even if a check hangs or traps, the output then shows the checks that ran before.
func say(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  _ = write(STDOUT_FILENO, bytes, bytes.count)
}

var words = CommandLine.arguments.dropFirst()
let medium = words.popFirst().flatMap { media[$0] }
let suite = words.popFirst()
let all: [(name: String, run: () throws -> Void)]
switch (medium, suite) {
case (let (channels, _)?, "channels"): all = ChannelSuite.cases(for: [channels]).map { ($0.description, $0.run) }
case (let (_, deaths)?, "deaths"): all = DeathSuite.cases(for: [deaths]).map { ($0.description, $0.run) }
default:
  say("usage: ChannelsOnHardware \(media.keys.sorted().joined(separator: "|")) channels|deaths [WORD…]")
  exit(2)
}
let cases = all.filter { example in words.isEmpty || words.contains { example.name.contains($0) } }
guard !cases.isEmpty else {
  say("there is no such check")
  exit(2)
}
/// Ends a check that hangs where the time limits of its loop have no effect, for example in a blocking call.
enum Watchdog {
  /// A time limit that a check and its cleanup normally never reach.
  static let limit: UInt32 = 120
  /// The text to write when the limit is reached. Set only while no alarm is pending.
  nonisolated(unsafe) private static var verdict: [UInt8] = []

  static func watch(_ name: String) {
    verdict = Array("✘ \(name): it had not ended after \(limit) s\n".utf8)
    signal(SIGALRM) { _ in
      _ = write(STDOUT_FILENO, Watchdog.verdict, Watchdog.verdict.count)
      _exit(1)
    }
    alarm(limit)
  }
}

/// A guest's time is limited, and checks that time out use up much of it.
let mostFailures = 3
var (ran, failures) = (0, 0)
for example in cases where failures < mostFailures && !USBRig.isStuck {
  ran += 1
  do {
    say("… \(example.name)")
    Watchdog.watch(example.name)
    defer { alarm(0) }
    try example.run()
    say("✔ \(example.name)")
  } catch {
    failures += 1
    say("✘ \(example.name): \(error)")
  }
}
if USBRig.isStuck {
  failures = max(failures, 1)
  say("✘ the last check left its device open or plugged in")
}
var sum = "\(ran) checks, \(failures) failed"
if ran < cases.count { sum += ", \(cases.count - ran) not tried" }
if USBRig.openedAgain > 0 { sum += ", devices opened again: \(USBRig.openedAgain)" }
say(sum)
exit(failures == 0 ? 0 : 1)
