import AccessoryCore

/// The result of one case.
public struct CheckResult: Sendable, Equatable {
  /// The case.
  public let rule: CheckCase
  /// The outcome of the case.
  public let outcome: CheckOutcome
  /// How long the case took.
  public let time: Duration
  /// Whether a broken rule makes the check fail regardless of the rule's severity.
  public var isStrict = false

  /// Whether this result makes the check fail.
  public var fails: Bool { hasFailed && (isStrict || rule.severity == .error) }

  /// Whether the rule is broken.
  public var hasFailed: Bool { if case .failed = outcome { true } else { false } }

  /// The case's result in one word.
  public var word: Word {
    switch outcome {
    case .passed: .passed
    case .skipped: .skipped
    case .failed where fails: .failed
    case .failed: rule.severity == .note ? .note : .warning
    }
  }

  /// The result of a case in one word.
  public enum Word: String, Sendable, CaseIterable {
    case passed
    /// The rule is broken, so the check fails.
    case failed
    /// The rule is broken, but the check still passes.
    case warning
    /// The rule is broken, but the effect is minor.
    case note
    case skipped
  }
}

/// The outcome of one case.
public enum CheckOutcome: Equatable, Sendable {
  case passed
  case failed(CheckFailure)
  case skipped(String)

  var isSkipped: Bool { if case .skipped = self { true } else { false } }
}

/// A broken rule, and the packets that prove it.
public struct CheckFailure: Error, Equatable, Sendable {
  /// The failure as a sentence.
  public var text: String
  /// The packets, in wire order.
  public var proof: [CheckProof]

  /// Creates a failure with its proof.
  public init(_ text: String, _ proof: [CheckProof] = []) {
    (self.text, self.proof) = (text, proof)
  }
}

/// A packet, or other bytes on the wire, that proves a failure.
public struct CheckProof: Equatable, Sendable {
  /// The time since the cable was plugged in.
  public var time: Duration
  /// The direction of the packet.
  public var direction: WireDirection
  /// The packet's bytes as sent on the wire, up to the first 256.
  public var bytes: [UInt8]
  /// The total number of bytes.
  public var length: Int
  /// A description, such as "SYN 2B" or "data 02, session 1: AA01 AuthenticationCertificate".
  public var text: String
  /// The ranges of the offending bytes.
  public var marks: [Range<Int>]
}

struct CheckSkip: Error {
  let reason: String
  /// Whether the case was skipped because it tests something that the accessory does not declare.
  let isUndeclared: Bool

  init(_ reason: String, isUndeclared: Bool = false) { (self.reason, self.isUndeclared) = (reason, isUndeclared) }
}

/// Thrown to end a run that was stopped from outside.
public struct CheckStopped: Error {
  init() {}
}
