import AccessoryFormats
import IAP2

extension Fault {
  /// Flips one bit of a packet. The checksum shows it, unless `sum=right` corrects the checksum; then nothing on the
  /// link can notice.
  public struct Corrupt: FaultKind {
    /// The part of a packet that is changed.
    public enum Part: String, CaseIterable, Sendable {
      /// In its payload.
      case payload
      /// In its header.
      case header
      /// In either.
      case either
    }

    /// Which packets are affected.
    public var packets = StruckPackets()
    /// The part that is changed.
    public var part = Part.payload
    /// Whether the checksum is made right again.
    public var mendsSum = false

    /// The defaults.
    public init() {}

    static let format = Record("corrupt", "flips one bit of a packet", Corrupt()) {
      StruckPackets.format.fields(at: \.packets)
      Field("part", \.part, .choice, "where the bit is")
      Field(
        "sum", \.mendsSum, .words([("wrong", false), ("right", true)]),
        "whether the checksum is left wrong or corrected")
    }.example("corrupt,chance=2%,header")

    func makeStage(_ unit: FaultUnit) -> any FaultStage {
      PacketStage(CorruptStrike(part: part, mendsSum: mendsSum), packets, unit)
    }
  }
}

struct CorruptStrike: PacketFault {
  let part: Fault.Corrupt.Part
  let mendsSum: Bool

  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, isStruck: Bool, _ step: inout FaultStep) {
    var bytes = packet.withUnsafeBytes { [UInt8]($0) }
    guard let place = place(in: bytes.count, header, &step.random) else { return step.pass(packet) }
    let flipped: UInt8 = 1 << UInt8.random(in: 0..<8, using: &step.random)
    let before = bytes[place]
    bytes[place] ^= flipped
    if mendsSum, let header {
      let sum = place < PacketHeader.size ? PacketHeader.size - 1 : Int(header.length) - 1
      bytes[sum] &+= before &- bytes[place]
    }
    step.pass(bytes.span.bytes)
    step.hit(bytes: 1)
  }

  /// The byte to change; nil when the packet has none of the kind. A checksum that will be corrected is never changed,
  /// nor are the first bytes, without which it would not be a packet.
  private func place(in count: Int, _ header: PacketHeader?, _ random: inout SeededRandom) -> Int? {
    guard let header else { return count > 0 ? Int.random(in: 0..<count, using: &random) : nil }
    let inHeader = mendsSum ? 2..<PacketHeader.size - 1 : 0..<PacketHeader.size
    let inPayload = PacketHeader.size..<PacketHeader.size + header.payloadCount
    let range =
      switch part {
      case .header: inHeader
      case .payload: inPayload
      case .either: inPayload.isEmpty || Bool.random(using: &random) ? inHeader : inPayload
      }
    return range.isEmpty ? nil : Int.random(in: range, using: &random)
  }
}
