import AccessoryCore

/// A rule that every seeded world must satisfy after each step.
public struct SoakRule: Hashable, Sendable, CustomStringConvertible {
  /// The name of the rule in reports and JSON, for example `bytes` or `forbidden giveUp`.
  public let description: String

  init(_ word: String) { description = word }

  /// The bytes that one end has read are a prefix of the bytes that the other end has written.
  public static let bytes = SoakRule("bytes")
  /// Bytes always arrive if they were written before a clean close or in a session that stays open.
  public static let delivery = SoakRule("delivery")
  /// If a session ends at one end, it also ends at the other end.
  public static let ending = SoakRule("ending")
  /// Each connect is followed by a disconnect, and no connection ID is reused.
  public static let publication = SoakRule("publication")
  /// Only apps open sessions, and only for a protocol that the accessory offers at that moment.
  public static let opening = SoakRule("opening")
  /// Neither end has more unacknowledged packets in flight than its peer allows.
  public static let window = SoakRule("window")
  /// No packet is longer than the receiver allows.
  public static let packetLength = SoakRule("packetLength")
  /// Once both SYNs have been exchanged, packets are numbered consecutively.
  public static let numbering = SoakRule("numbering")
  /// Only packets that have arrived are acknowledged.
  public static let acknowledgement = SoakRule("acknowledgement")
  /// No packet is sent with a wrong checksum.
  public static let packets = SoakRule("packets")
  /// An accessory that is not plugged in can always be plugged in.
  public static let plugging = SoakRule("plugging")
  /// Every world finishes its work within a limited time.
  public static let end = SoakRule("end")
  /// No object stays in memory after it is no longer needed.
  public static let leak = SoakRule("leak")

  /// The world does not reach any corner case that its plan forbids.
  public static func forbidden(_ corner: SoakCoverage.Corner) -> SoakRule { SoakRule("forbidden \(corner.word)") }

  /// The rules that apply to every world, regardless of its plan.
  public static let everywhere: [SoakRule] = [
    .bytes, .delivery, .ending, .publication, .opening, .window, .packetLength, .numbering, .acknowledgement, .packets,
    .plugging, .end, .leak,
  ]
}

/// One occasion on which a rule was broken.
public struct SoakViolation: Equatable, Sendable, CustomStringConvertible {
  /// The broken rule.
  public var rule: SoakRule
  /// The virtual time, which the ``SoakRecord`` sets.
  public var time: Instant
  /// What was observed.
  public var text: String

  init(_ rule: SoakRule, _ text: String, at time: Instant = .origin) {
    (self.rule, self.text, self.time) = (rule, text, time)
  }

  /// The time and text of the violation.
  public var description: String { "\(time.secondsText) \(text)" }
  /// The violation on one line: the rule, the time and the text.
  public var line: String { "\(rule): \(description)" }
}
