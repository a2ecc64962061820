// Firmware's end of the protocol without easim's loops: bytes in, bytes out, and the time as a parameter.
import IAP2

var identification = Identification()
identification.name = "Lamp"
var accessory = AccessoryPeer(identification: identification)
var now = Instant(nanoseconds: 0)

/// What the accessory sends now, a packet each.
func transmits(_ accessory: inout AccessoryPeer, now: Instant) -> [[UInt8]] {
  var packets: [[UInt8]] = []
  var bytes: [UInt8] = []
  while accessory.core.nextTransmit(into: &bytes, now: now) {
    packets.append(bytes)
    bytes.removeAll()
  }
  return packets
}

// It begins with the bytes of detection.
accessory.core.start(now: now)
let detection: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]
precondition(transmits(&accessory, now: now) == [detection])

// A device answers with the same bytes, and the accessory proposes a link: its SYN has the control byte 0x80.
accessory.receive(detection.span.bytes, now: now)
let syn = transmits(&accessory, now: now)
precondition(syn.count == 1 && syn[0].starts(with: [0xFF, 0x5A]) && syn[0][4] == 0x80)

// Nothing answers: at its deadline the accessory sends the packet again.
now = accessory.core.deadline ?? now
accessory.handleTimeout(now: now)
precondition(transmits(&accessory, now: now) == syn)
print("the accessory proposed a link after \(detection.count) bytes, and again at its deadline")
