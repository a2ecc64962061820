import AccessoryCore
import IAP2

extension FaultDefinition {
  /// Packets that arrive more than once.
  public static let duplicate = FaultDefinition(
    "duplicate", "delivers packets more than once",
    OptionParameter.packetFault + [.count("copies", 1...16, 1, "how many more times")]
  ) { arguments, unit in
    PacketStage(DuplicateStrike(copies: arguments.count("copies")), arguments, unit)
  }
}

struct DuplicateStrike: PacketFault {
  let copies: Int

  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
    for _ in 0...copies { step.pass(packet) }
    step.hit(bytes: packet.byteCount * copies)
  }
}
