import AccessoryCore

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
  /// The packets, in the order they were sent.
  package var proof: [CheckProof]

  package init(_ text: String, _ proof: [CheckProof] = []) {
    (self.text, self.proof) = (text, proof)
  }
}

/// A packet, or other bytes on the wire, that proves a failure.
package struct CheckProof: Equatable, Sendable {
  /// The time since the cable was plugged in.
  package var time: Duration
  package var direction: WireDirection
  /// Up to 256 bytes from the start of the packet, as sent on the wire.
  package var bytes: [UInt8]
  /// The packet's full length in bytes.
  package var length: Int
  /// A description, such as "SYN 2B" or "data 02, session 1: AA01 AuthenticationCertificate".
  package var text: String
  /// The ranges of the offending bytes.
  package var marks: [Range<Int>]
}

struct CheckSkip: Error {
  let reason: String
  /// Whether the case was skipped because the accessory does not declare what the case tests.
  let isUndeclared: Bool

  init(_ reason: String, isUndeclared: Bool = false) { (self.reason, self.isUndeclared) = (reason, isUndeclared) }
}

/// Thrown when the program that runs the check stops it.
package struct CheckStopped: Error {
  init() {}
}
