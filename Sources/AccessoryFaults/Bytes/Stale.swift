import AccessoryFormats
import IAP2

extension Fault {
  /// The endpoint still holds bytes of an earlier session, and the next handshake reads those first; reported from the
  /// field (W17, bytes of an earlier session).
  public struct Stale: FaultKind {
    /// What the bytes are.
    public enum Kind: String, CaseIterable, Sendable {
      /// The end of a packet.
      case tail
      /// Whole packets of an earlier link.
      case packets
      /// Random bytes.
      case noise
    }

    /// What the bytes are.
    public var kind = Kind.tail
    /// How many bytes; packets are not cut short.
    public var bytes = 64

    /// The defaults.
    public init() {}

    static let directions = [Directions.in, .out, .both]

    static let format = Record("stale", "delivers bytes of an earlier session first", Stale()) {
      Field(
        "kind", \.kind, .choice,
        "tail: the end of a packet; packets: whole packets of an earlier link; noise: random bytes")
      Field("bytes", \.bytes, .integer(1...65_536), "number of bytes; `packets` rounds up to whole packets")
    }.example("stale,noise,bytes=200")

    func makeStage(_ unit: FaultUnit) -> any FaultStage { StaleStage(kind: kind, count: bytes) }
  }
}

struct StaleStage: FaultStage {
  let kind: Fault.Stale.Kind
  let count: Int

  mutating func begin(_ step: inout FaultStep) {
    var bytes: [UInt8] = []
    switch kind {
    case .noise:
      for _ in 0..<count { bytes.append(UInt8.random(in: 0...255, using: &step.random)) }
    case .tail:
      bytes = Array(Self.packet(payload: count, &step.random).suffix(count))
    case .packets:
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
