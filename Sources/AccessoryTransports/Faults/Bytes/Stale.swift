import AccessoryCore
import IAP2

extension FaultDefinition {
  /// The endpoint still holds bytes of an earlier session, and the next handshake reads those first; reported from the
  /// field (W17).
  public static let stale = FaultDefinition(
    "stale", "begins with bytes of an earlier session", directions: ["in", "out", "both"],
    [
      .choice(
        "kind", ["tail", "packets", "noise"],
        "the end of a packet; whole packets of a link that is no more; or random bytes"),
      .count("bytes", 1...65_536, 64, "how many bytes; packets are not cut short"),
    ]
  ) { arguments, _ in
    StaleStage(kind: arguments.choice("kind"), count: arguments.count("bytes"))
  }
}

struct StaleStage: FaultStage {
  let kind: String
  let count: Int

  mutating func begin(_ step: inout FaultStep) {
    var bytes: [UInt8] = []
    switch kind {
    case "noise":
      for _ in 0..<count { bytes.append(UInt8.random(in: 0...255, using: &step.random)) }
    case "tail":
      bytes = Array(Self.packet(payload: count, &step.random).suffix(count))
    default:
      while bytes.count < count {
        bytes += Self.packet(payload: min(1_000, max(3, count - bytes.count - PacketHeader.overhead)), &step.random)
      }
    }
    step.pass(bytes.span.bytes)
    step.hit(bytes: bytes.count)
    step.tell("\(bytes.count) bytes of an earlier session come first")
  }

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage { .whole }

  /// A data packet as it would remain in a buffer: valid by itself, and part of no link.
  private static func packet(payload count: Int, _ random: inout SeededRandom) -> [UInt8] {
    let payload = [0, 1] + (2..<max(3, count)).map { UInt8(truncatingIfNeeded: $0) }
    let header = PacketHeader(
      control: .ack, sequence: UInt8.random(in: 0...255, using: &random),
      acknowledgement: UInt8.random(in: 0...255, using: &random), session: 2, payloadCount: payload.count)
    return PacketWriter.packet(header, payload: payload)
  }
}
