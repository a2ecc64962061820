// The firmware's end of the protocol without easim's loops: bytes go in, bytes come out, and the time is a parameter.
import IAP2

var identification = Identification()
identification.name = "Lamp"
var accessory = AccessoryPeer(identification: identification)
var now = Instant(nanoseconds: 0)

/// Returns the packets that the accessory sends now.
func transmits(_ accessory: inout AccessoryPeer, now: Instant) -> [[UInt8]] {
  var packets: [[UInt8]] = []
  var bytes: [UInt8] = []
  while accessory.core.nextTransmit(into: &bytes, now: now) {
    packets.append(bytes)
    bytes.removeAll()
  }
  return packets
}

// The accessory begins with the detection sequence.
accessory.core.start(now: now)
let detection: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]
precondition(transmits(&accessory, now: now) == [detection])

// A device answers with the same bytes, and the accessory proposes a link: its SYN has the control byte 0x80.
accessory.receive(detection.span.bytes, now: now)
let syn = transmits(&accessory, now: now)
precondition(syn.count == 1 && syn[0].starts(with: [0xFF, 0x5A]) && syn[0][4] == 0x80)

// If there is no answer, the accessory sends the packet again at its deadline.
now = accessory.core.deadline ?? now
accessory.handleTimeout(now: now)
precondition(transmits(&accessory, now: now) == syn)
print("the accessory proposed a link after \(detection.count) bytes, and again at its deadline")
