/// A rule for accessories: its number and name, the rule as a sentence, the sources that state the rule, and a script
/// that checks it.
///
/// ```swift
/// CheckCase(
///   102, "detection-repeat", "The accessory repeats the detection sequence until it is answered.", [.agreed],
///   fix: "Send the detection sequence again every second until the Apple device answers."
/// ) { run in … throw CheckFailure("it was sent once", run.proof(…)) … }
/// ```
package struct CheckCase: Sendable, Equatable {
  /// What happens if a rule is broken.
  package enum Severity: String, Sendable, CaseIterable {
    /// The accessory does not work with an Apple device, or data is lost.
    case error
    /// The accessory works only with some devices, over some connections, or most of the time.
    case warning
    /// Breaking the rule has no practical effect, but the maker may want to know about it.
    case note
  }

  /// The case's number, as used by ``CheckSelection`` and in reports. Dividing the case's number by 100 gives the
  /// ``CheckGroup``.
  package let number: Int
  /// The case's short name, such as "detection-repeat".
  package let name: String
  package let sentence: String
  package let sources: [CheckSource]
  /// What happens if the rule is broken.
  package let severity: Severity
  /// How to change the firmware of an accessory that breaks the rule.
  package let fix: String
  /// Whether the case does something that no Apple device does, and therefore runs only with `--hostile`.
  package let isHostile: Bool
  let script: @Sendable (CheckRun) throws -> Void

  init(
    _ number: Int, _ name: String, _ sentence: String, _ sources: [CheckSource], _ severity: Severity = .error,
    isHostile: Bool = false, fix: String, script: @escaping @Sendable (CheckRun) throws -> Void
  ) {
    (self.number, self.name, self.sentence, self.sources) = (number, name, sentence, sources)
    (self.severity, self.isHostile, self.fix, self.script) = (severity, isHostile, fix, script)
  }

  /// All cases, sorted by number.
  package static let all: [CheckCase] =
    detection + synchronization + packets + loss + authentication + identification + sessions + data + plugging
    + components

  /// The lowest number that one of the user's own cases can have. easim's own cases have lower numbers.
  static let firstOwn = 100_000
  /// The case numbers that users can assign to their own cases.
  static let ownIDs = 0...99_999

  package var isOwn: Bool { number >= Self.firstOwn }

  /// The case's label in text output, such as "902", or "own-902" for one of the user's own cases.
  package var label: String { isOwn ? name : String(number) }

  /// The case's title in text output, such as "902 replug-in-detection". The user's own cases have only a label, such
  /// as "own-902".
  package var title: String { isOwn ? name : "\(number) \(name)" }

  package static func == (left: CheckCase, right: CheckCase) -> Bool { left.number == right.number }

  package var group: CheckGroup { isOwn ? .own : CheckGroup(rawValue: number / 100) ?? .detection }
}

/// A group of cases. For example, the raw value 1 stands for the cases numbered 100 to 199.
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
  /// Cases that the user has written.
  case own

  /// The group's heading.
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

/// The kind of source that a rule comes from. Apple's specification is not public, so the rules come from open
/// implementations, captures and notes.
package enum CheckSource: Equatable, Sendable, CustomStringConvertible {
  /// Several independent sources agree.
  case agreed
  /// The rule can be seen in captured packets with verified checksums.
  case captured
  /// Only one source states the rule.
  case seenOnce
  /// No source states the rule, but it follows from several statements.
  case inferred
  /// The user states the rule in a file of test cases.
  case own

  /// The word for this kind of source: "agreed", "captured", "seen once" or "inferred".
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
