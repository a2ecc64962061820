import AccessoryCore

/// The result of one case.
public struct CheckResult: Sendable, Equatable {
  /// The case.
  public let rule: CheckCase
  /// The outcome.
  public let outcome: CheckOutcome
  /// How long the case took.
  public let time: Duration
  /// Whether a broken rule fails the check whatever its severity.
  public var isStrict = false

  /// Whether it fails the check.
  public var fails: Bool { hasFailed && (isStrict || rule.severity == .error) }

  /// Whether the rule is broken.
  public var hasFailed: Bool { if case .failed = outcome { true } else { false } }

  /// What came of it, in one word.
  public var word: Word {
    switch outcome {
    case .passed: .passed
    case .skipped: .skipped
    case .failed where fails: .failed
    case .failed: rule.severity == .note ? .note : .warning
    }
  }

  /// What came of a case.
  public enum Word: String, Sendable, CaseIterable {
    /// The rule holds.
    case passed
    /// It is broken, and that fails the check.
    case failed
    /// It is broken; the check passes all the same.
    case warning
    /// The same for a rule that hardly matters.
    case note
    /// It could not be judged.
    case skipped
  }
}

/// The outcome of one case.
public enum CheckOutcome: Equatable, Sendable {
  /// The accessory follows the rule.
  case passed
  /// The accessory breaks the rule.
  case failed(CheckFailure)
  /// The rule could not be judged, for this reason.
  case skipped(String)

  /// Whether the rule could not be judged.
  var isSkipped: Bool { if case .skipped = self { true } else { false } }
}

/// A broken rule, with the packets that prove it.
public struct CheckFailure: Error, Equatable, Sendable {
  /// What happened, as a sentence.
  public var text: String
  /// The packets, in the order of the wire.
  public var proof: [CheckProof]

  /// A failure with its proof.
  public init(_ text: String, _ proof: [CheckProof] = []) {
    (self.text, self.proof) = (text, proof)
  }
}

/// A packet, or another piece of what was on the wire, that proves a failure.
public struct CheckProof: Equatable, Sendable {
  /// The time from plugging in the cable.
  public var time: Duration
  /// Who sent it.
  public var direction: WireDirection
  /// The packet's bytes as they were on the wire, up to the first 256.
  public var bytes: [UInt8]
  /// The number of bytes.
  public var length: Int
  /// A description: "SYN 2B", "data 02, session 1: AA01 AuthenticationCertificate".
  public var text: String
  /// The ranges of the offending bytes.
  public var marks: [Range<Int>]
}

/// The reason why a case cannot be judged.
struct CheckSkip: Error {
  let reason: String
  /// Whether the case is about something that the accessory does not declare.
  let isUndeclared: Bool

  init(_ reason: String, isUndeclared: Bool = false) { (self.reason, self.isUndeclared) = (reason, isUndeclared) }
}

/// Ends a run that was stopped from outside.
public struct CheckStopped: Error {
  init() {}
}
