/// One rule that an accessory is checked against: a number, a sentence, the source of the rule, and the script that
/// checks the rule.
///
/// ```swift
/// CheckCase(
///   102, "detection-repeat", "The accessory repeats the detection sequence until it is answered.", [.agreed],
///   fix: "Send the detection sequence again every second until the Apple device answers."
/// ) { run in … throw CheckFailure("it was sent once", run.proof(…)) … }
/// ```
package struct CheckCase: Sendable, Equatable {
  /// The consequence of a broken rule.
  package enum Severity: String, Sendable, CaseIterable {
    /// The accessory is unusable with an Apple device, or data is lost.
    case error
    /// The accessory works with some devices, on some lines, or most of the time.
    case warning
    /// The violation has no effect, but is worth knowing about.
    case note
  }

  /// The case's number, used by ``CheckSelection`` and reports. The number divided by 100 selects the ``CheckGroup``.
  package let number: Int
  /// The case's short name, such as "detection-repeat".
  package let name: String
  package let sentence: String
  package let sources: [CheckSource]
  /// The consequence of a violation.
  package let severity: Severity
  /// The change to make in the firmware of an accessory that breaks the rule.
  package let fix: String
  /// Whether the case does something that no Apple device does; such cases run only in a hostile check.
  package let isHostile: Bool
  let script: @Sendable (CheckRun) throws -> Void

  init(
    _ number: Int, _ name: String, _ sentence: String, _ sources: [CheckSource], _ severity: Severity = .error,
    isHostile: Bool = false, fix: String, script: @escaping @Sendable (CheckRun) throws -> Void
  ) {
    (self.number, self.name, self.sentence, self.sources) = (number, name, sentence, sources)
    (self.severity, self.isHostile, self.fix, self.script) = (severity, isHostile, fix, script)
  }

  /// Every case, sorted by number.
  package static let all: [CheckCase] =
    detection + synchronization + packets + loss + authentication + identification + sessions + data + plugging
    + components

  /// The lowest number of the user's own cases; all of easim's cases have lower numbers.
  static let firstOwn = 100_000
  /// The numbers that users may give to their own cases.
  static let ownIDs = 0...99_999

  package var isOwn: Bool { number >= Self.firstOwn }

  /// The case's name in text output: "902", or "own-902" for one of the user's own cases.
  package var label: String { isOwn ? name : String(number) }

  /// The case's title in text output: the label and, for one of easim's cases, the name, such as "902
  /// replug-in-detection".
  package var title: String { isOwn ? name : "\(number) \(name)" }

  package static func == (left: CheckCase, right: CheckCase) -> Bool { left.number == right.number }

  package var group: CheckGroup { isOwn ? .own : CheckGroup(rawValue: number / 100) ?? .detection }
}

/// The group of a case, which is the case's number divided by 100.
package enum CheckGroup: Int, Sendable, CaseIterable {
  case detection = 1
  case synchronization
  case packets
  case loss
  case authentication
  case identification
  case sessions
  case data
  case plugging
  case components
  /// The user's own cases, which have the highest numbers.
  case own

  /// A heading for the group.
  package var title: String {
    switch self {
    case .detection: "Detection"
    case .synchronization: "SYN"
    case .packets: "Packets and messages"
    case .loss: "Loss, duplication and reordering"
    case .authentication: "Authentication"
    case .identification: "Identification"
    case .sessions: "External Accessory sessions"
    case .data: "Session data"
    case .plugging: "Unplugging"
    case .components: "Declared components"
    case .own: "Your own cases"
    }
  }
}

/// The kind of source that states a rule. Apple's specification is not public, so the rules are compiled from open
/// implementations, captures and notes.
package enum CheckSource: Equatable, Sendable, CustomStringConvertible {
  /// Several independent sources agree.
  case agreed
  /// Captured packets with verified checksums demonstrate the rule.
  case captured
  /// A single source states the rule.
  case seenOnce
  /// No source states the rule, but it follows from statements in the sources.
  case inferred
  /// The user states the rule, in a file with test cases.
  case own

  /// One of "agreed", "captured", "seen once" and "inferred".
  package var description: String {
    switch self {
    case .agreed: "agreed"
    case .captured: "captured"
    case .seenOnce: "seen once"
    case .inferred: "inferred"
    case .own: "your own"
    }
  }
}
