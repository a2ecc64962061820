import AccessoryCore

/// A rule that holds after every step of every seeded world.
public struct SoakRule: Hashable, Sendable, CustomStringConvertible {
  /// The rule's name in reports and JSON: `bytes`, `forbidden giveUp`.
  public let description: String

  init(_ word: String) { description = word }

  /// What one end reads is a prefix of what the other has written.
  public static let bytes = SoakRule("bytes")
  /// Everything written before an orderly close, or into a session that stays open, arrives.
  public static let delivery = SoakRule("delivery")
  /// A session that ends for one end ends for both.
  public static let ending = SoakRule("ending")
  /// Each connect has its disconnect, and a connection ID is never used again.
  public static let publication = SoakRule("publication")
  /// A session is opened only for a protocol that the accessory offers at that moment, and only for an app.
  public static let opening = SoakRule("opening")
  /// No more packets are unacknowledged than the other end announced.
  public static let window = SoakRule("window")
  /// No packet is longer than the other end announced.
  public static let packetLength = SoakRule("packetLength")
  /// Packets are numbered consecutively, once both SYNs were exchanged.
  public static let numbering = SoakRule("numbering")
  /// Only what arrived is acknowledged.
  public static let acknowledgement = SoakRule("acknowledgement")
  /// Only packets with correct checksums are sent.
  public static let packets = SoakRule("packets")
  /// An accessory can be plugged in whenever it is not.
  public static let plugging = SoakRule("plugging")
  /// Everything ends eventually.
  public static let end = SoakRule("end")
  /// Nothing unneeded stays in memory.
  public static let leak = SoakRule("leak")

  /// A corner that the plan forbids is not reached.
  public static func forbidden(_ corner: SoakCoverage.Corner) -> SoakRule { SoakRule("forbidden \(corner.word)") }

  /// The rules that hold in every world, whatever its plan.
  public static let everywhere: [SoakRule] = [
    .bytes, .delivery, .ending, .publication, .opening, .window, .packetLength, .numbering, .acknowledgement, .packets,
    .plugging, .end, .leak,
  ]
}

/// A broken rule.
public struct SoakViolation: Equatable, Sendable, CustomStringConvertible {
  /// Which rule.
  public var rule: SoakRule
  /// The time in the world; watches leave it to the ``SoakRecord``.
  public var time: Instant
  /// What was seen.
  public var text: String

  init(_ rule: SoakRule, _ text: String, at time: Instant = .origin) {
    (self.rule, self.text, self.time) = (rule, text, time)
  }

  /// "1.5 byte 20 is not what was written".
  public var description: String { "\(time.secondsText) \(text)" }
  /// "bytes: 1.5 byte 20 is not what was written".
  public var line: String { "\(rule): \(description)" }
}
