import AccessoryCore

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

  /// The case's number, as used by `--only` and in reports. Dividing the case's number by 100 gives the
  /// ``CheckGroup``.
  package let number: Int
  /// The case's short name, such as "detection-repeat".
  package let name: String
  package let sentence: String
  package let sources: [CheckSource]
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

  var sourcesText: String { sources.map(\.rawValue).joined(separator: ", ") }

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
  case own

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
package enum CheckSource: String, Sendable {
  /// Several independent sources agree.
  case agreed
  /// The rule can be seen in captured packets with verified checksums.
  case captured
  /// Only one source states the rule.
  case seenOnce = "seen once"
  /// No source states the rule, but it follows from several statements.
  case inferred
  /// The user states the rule in a file of test cases.
  case own = "your own"
}

// MARK: - Outcomes

package struct CheckResult: Sendable, Equatable {
  package let rule: CheckCase
  package let outcome: CheckOutcome
  package let time: Duration
  /// Whether the check fails if the rule is broken, no matter how severe the rule is.
  package var isStrict = false

  package var fails: Bool { hasFailed && (isStrict || rule.severity == .error) }

  package var hasFailed: Bool { if case .failed = outcome { true } else { false } }

  package var word: Word {
    switch outcome {
    case .passed: .passed
    case .skipped: .skipped
    case .failed where fails: .failed
    case .failed: rule.severity == .note ? .note : .warning
    }
  }

  package enum Word: String, Sendable, CaseIterable {
    case passed
    /// The rule is broken, so the check fails.
    case failed
    /// The rule is broken, but the check still passes.
    case warning
    /// The rule is broken, but this has little effect.
    case note
    case skipped
  }
}

package enum CheckOutcome: Equatable, Sendable {
  case passed
  case failed(CheckFailure)
  case skipped(String)

  var isSkipped: Bool { if case .skipped = self { true } else { false } }
}

/// The reason a rule counts as broken, and the packets that prove it.
package struct CheckFailure: Error, Equatable, Sendable {
  package var text: String
  package var proof: [CheckProof]

  package init(_ text: String, _ proof: [CheckProof] = []) {
    (self.text, self.proof) = (text, proof)
  }
}

/// A packet, or other bytes on the wire, that proves a failure.
package struct CheckProof: Equatable, Sendable {
  package var time: Duration
  package var direction: WireDirection
  /// Up to 256 bytes from the start of the packet, as sent on the wire.
  package var bytes: [UInt8]
  /// The packet's full length in bytes.
  package var length: Int
  /// A description, such as "SYN 2B" or "data 02, session 1: AA01 AuthenticationCertificate".
  package var text: String
  package var marks: [Range<Int>]
}

struct CheckSkip: Error {
  let reason: String
  /// Whether the case was skipped because the accessory does not declare what the case tests.
  let isUndeclared: Bool

  init(_ reason: String, isUndeclared: Bool = false) { (self.reason, self.isUndeclared) = (reason, isUndeclared) }
}

package struct CheckStopped: Error {}
