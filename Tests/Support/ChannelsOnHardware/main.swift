// Runs ChannelSuite and DeathSuite on USB or Bluetooth, in a guest of the kernel lane: the same checks as in `swift test`, with
// the host at one end (libusb, or a socket of RFCOMM) and a simulated accessory at the other.
//
//   ChannelsOnHardware usbip channels|deaths [WORD…]     as root; needs vhci_hcd. WORD: only checks whose names contain it
//   ChannelsOnHardware gadget channels|deaths [WORD…]    needs dummy_hcd and FunctionFS
//   ChannelsOnHardware bluetooth channels|deaths [WORD…] needs BlueZ, and hci0 paired with hci1

import ChannelSuite
import Glibc

let media: [String: (ChannelFactory, DeathFactory)] = [
  "usbip": (.usbip, .usbip), "gadget": (.gadget, .gadget),
  "bluetooth": (BluetoothRig.channels, BluetoothRig.deaths),
]

/// Written at once: a check may hang or trap, and what ran before it should be known.
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
var failures = 0
for example in cases {
  do {
    say("… \(example.name)")
    try example.run()
    say("✔ \(example.name)")
  } catch {
    failures += 1
    say("✘ \(example.name): \(error)")
  }
}
say("\(cases.count) checks, \(failures) failed")
exit(failures == 0 ? 0 : 1)
