// The channel suite on USB, for a machine of its own (a guest of the kernel lane): the same checks as in `swift test`, with
// the host's libusb at one end and a simulated accessory at the other.
//
//   ChannelsOnUSB usbip [CHECK…]       as root; with vhci_hcd
//   ChannelsOnUSB gadget [CHECK…]      with dummy_hcd and FunctionFS

import ChannelSuite
import Glibc

let media: [String: ChannelFactory] = ["usbip": .usbip, "gadget": .gadget]

/// Written at once: a check may hang or trap, and what ran before it should be known.
func say(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  _ = write(STDOUT_FILENO, bytes, bytes.count)
}

var words = CommandLine.arguments.dropFirst()
guard let factory = words.popFirst().flatMap({ media[$0] }) else {
  say("usage: ChannelsOnUSB \(media.keys.sorted().joined(separator: "|")) [CHECK…]")
  exit(2)
}
let cases = ChannelSuite.cases(for: [factory]).filter { words.isEmpty || words.contains($0.check.name) }
guard !cases.isEmpty else {
  say("there is no such check")
  exit(2)
}
var failures = 0
for example in cases {
  do {
    say("… \(example)")
    try example.run()
    say("✔ \(example)")
  } catch {
    failures += 1
    say("✘ \(example): \(error)")
  }
}
say("\(cases.count) checks, \(failures) failed")
exit(failures == 0 ? 0 : 1)
