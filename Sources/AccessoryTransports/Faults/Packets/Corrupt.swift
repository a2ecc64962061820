import AccessoryCore
import IAP2

extension FaultDefinition {
  /// Flips one bit of a packet. The checksum shows it, unless `sum=right` corrects the checksum; then nothing on the
  /// link can notice.
  public static let corrupt = FaultDefinition(
    "corrupt", "flips one bit of a packet",
    OptionParameter.packetFault + [
      .choice("part", ["payload", "header", "either"], "where"),
      .choice("sum", ["wrong", "right"], "whether the checksum is left wrong or made right again"),
    ]
  ) { arguments, unit in
    PacketStage(
      CorruptStrike(part: arguments.choice("part"), mendsSum: arguments.choice("sum") == "right"), arguments, unit)
  }
}

struct CorruptStrike: PacketFault {
  let part: String
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
    var range = part == "header" ? inHeader : inPayload
    if part == "either", inPayload.isEmpty || Bool.random(using: &random) { range = inHeader }
    return range.isEmpty ? nil : Int.random(in: range, using: &random)
  }
}
