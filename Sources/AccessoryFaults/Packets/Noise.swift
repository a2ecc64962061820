import AccessoryFormats
import IAP2

extension Fault {
  /// Random bytes before a packet, as a serial line with a bad contact makes them. The other end must find the packet
  /// behind them.
  public struct Noise: FaultKind {
    /// Which packets are struck.
    public var packets = StruckPackets()
    /// How many bytes come before each of them.
    public var bytes = 8

    /// The defaults.
    public init() {}

    static let format = Record("noise", "puts random bytes before packets", Noise()) {
      StruckPackets.format.fields(at: \.packets)
      Field("bytes", \.bytes, .integer(1...65_536), "bytes before each packet")
    }.example("noise,chance=5%,bytes=20")

    func makeStage(_ unit: FaultUnit) -> any FaultStage { PacketStage(NoiseStrike(bytes: bytes), packets, unit) }
  }
}

struct NoiseStrike: PacketFault {
  let bytes: Int

  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
    let noise = (0..<bytes).map { _ in UInt8.random(in: .min ... .max, using: &step.random) }
    step.pass(noise.span.bytes)
    step.pass(packet)
    step.hit(bytes: bytes)
  }
}
