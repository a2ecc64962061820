import AccessoryCore

/// The rules that hold after every step of every seeded world.
public enum SoakRule: Hashable, Sendable, CustomStringConvertible {
  /// What one end reads is a prefix of what the other has written.
  case bytes
  /// What was written before an orderly close, or into a session that stays open, arrives.
  case delivery
  /// A session that ends for one end ends for both.
  case ending
  /// Each connect has its disconnect, and a connection ID is never used again.
  case publication
  /// A session is opened only on a protocol that the accessory offers at that moment, and only for an app.
  case opening
  /// No more packets are unacknowledged than the other end announced.
  case window
  /// No packet is longer than the other end announced.
  case packetLength
  /// Packets are numbered one after the other, once both SYNs were exchanged.
  case numbering
  /// Only what arrived is acknowledged.
  case acknowledgement
  /// Only packets with correct checksums are sent.
  case packets
  /// An accessory can be plugged in whenever it is not.
  case plugging
  /// Everything comes to an end.
  case end
  /// Nothing unneeded stays in memory.
  case leak
  /// A corner that the plan forbids is not reached.
  case forbidden(SoakCoverage.Corner)

  /// The rules that hold in every world, whatever its plan.
  public static let everywhere: [SoakRule] = [
    .bytes, .delivery, .ending, .publication, .opening, .window, .packetLength, .numbering, .acknowledgement, .packets,
    .plugging, .end, .leak,
  ]

  /// Its word in JSON: `bytes`, `forbidden giveUp`.
  public var description: String {
    switch self {
    case .bytes: "bytes"
    case .delivery: "delivery"
    case .ending: "ending"
    case .publication: "publication"
    case .opening: "opening"
    case .window: "window"
    case .packetLength: "packetLength"
    case .numbering: "numbering"
    case .acknowledgement: "acknowledgement"
    case .packets: "packets"
    case .plugging: "plugging"
    case .end: "end"
    case .leak: "leak"
    case .forbidden(let corner): "forbidden \(corner.word)"
    }
  }
}

/// A rule that was broken: which, when, and what was seen.
public struct SoakViolation: Equatable, Sendable, CustomStringConvertible {
  /// Which rule.
  public let rule: SoakRule
  /// When.
  public let time: Instant
  /// What was seen.
  public let text: String

  /// "1.5 byte 20 is not what was written".
  public var description: String { "\(time.secondsText) \(text)" }
}

/// What a watch has seen that breaks a rule.
struct SoakComplaint: Equatable {
  let rule: SoakRule
  let text: String

  init(_ rule: SoakRule, _ text: String) {
    self.rule = rule
    self.text = text
  }
}
