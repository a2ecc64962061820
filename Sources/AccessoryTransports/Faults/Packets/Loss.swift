import AccessoryCore
import IAP2

extension FaultDefinition {
  /// Packets that never arrive.
  public static let loss = FaultDefinition("loss", "loses packets", OptionParameter.packetFault) { arguments, unit in
    PacketStage(LossStrike(), arguments, unit)
  }
}

struct LossStrike: PacketFault {
  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
    step.hit(bytes: packet.byteCount)
  }
}
