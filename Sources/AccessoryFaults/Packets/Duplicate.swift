import AccessoryFormats
import IAP2

extension Fault {
  /// Packets that arrive more than once.
  public struct Duplicate: FaultKind {
    /// Which packets are affected.
    public var packets = StruckPackets()
    /// How many more times they arrive.
    public var copies = 1

    /// The defaults.
    public init() {}

    static let format = Record("duplicate", "delivers packets more than once", Duplicate()) {
      StruckPackets.format.fields(at: \.packets)
      Field("copies", \.copies, .integer(1...16), "number of additional copies")
    }.example("duplicate,chance=5%")

    func makeStage(_ unit: FaultUnit) -> any FaultStage { PacketStage(DuplicateStrike(copies: copies), packets, unit) }
  }
}

struct DuplicateStrike: PacketFault {
  let copies: Int

  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
    for _ in 0...copies { step.pass(packet) }
    step.hit(bytes: packet.byteCount * copies)
  }
}
