import AccessoryFormats
import IAP2

extension Fault {
  /// Packets that never arrive.
  public struct Loss: FaultKind {
    /// Which packets are affected.
    public var packets = StruckPackets()

    /// The defaults.
    public init() {}

    static let format = Record("loss", "loses packets", Loss()) { StruckPackets.format.fields(at: \.packets) }.example(
      "loss,chance=2%,burst=3")

    func makeStage(_ unit: FaultUnit) -> any FaultStage { PacketStage(LossStrike(), packets, unit) }
  }
}

struct LossStrike: PacketFault {
  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
    step.hit(bytes: packet.byteCount)
  }
}
