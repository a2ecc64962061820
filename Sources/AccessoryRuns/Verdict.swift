import AccessoryFormats

/// The outcome of a run.
///
/// A verdict is computed from a report's figures and plan whenever it is needed; reports do not store verdicts. Only
/// ``passed`` gives exit code 0.
public enum Verdict: Equatable, Sendable {
  case passed
  /// Something failed; the sentences give the reasons.
  case failed([String])
  /// The run was stopped, for example by "SIGTERM", before it had completed its plan, and nothing had failed.
  case stopped(by: String)
  /// Nothing was compared; the value is the reason.
  case empty(String)

  /// Creates a failed verdict with these reasons, or ``passed`` if there are none.
  public init(reasons: [String]) { self = reasons.isEmpty ? .passed : .failed(reasons) }

  /// Creates a verdict from the first argument that is not empty or nil: what failed, what stopped the run, what was
  /// not done, or why nothing could be judged.
  public init(wrong: [String], stoppedBy: String?, gap: String?, nothing: String?) {
    if !wrong.isEmpty {
      self = .failed(wrong)
    } else if let stoppedBy {
      self = .stopped(by: stoppedBy)
    } else if let gap {
      self = .failed([gap])
    } else {
      self = nothing.map { .empty($0) } ?? .passed
    }
  }

  /// Whether the verdict is ``passed``.
  public var isPassed: Bool { self == .passed }

  /// The word used in reports.
  public var word: String {
    switch self {
    case .passed: "passed"
    case .failed: "failed"
    case .stopped: "stopped"
    case .empty: "empty"
    }
  }

  /// Why the run did not pass, one sentence per reason; empty if it passed.
  public var reasons: [String] {
    switch self {
    case .passed: []
    case .failed(let reasons): reasons
    case .stopped(let signal): ["stopped by \(signal)"]
    case .empty(let reason): [reason]
    }
  }
}

extension Verdict {
  /// The verdict's word, capitalized for a headline.
  package var title: String { word.prefix(1).uppercased() + word.dropFirst() }
}

extension Format<String?> {
  /// How a run ended: `complete` (nil), or `stopped by` followed by the cause.
  public static let ending = Format<String?>.parsed(
    TextShape(pattern: "^(complete|stopped by .+)$"), expected: "complete, or 'stopped by' and a signal"
  ) { text in
    if text == "complete" { return .some(nil) }
    let stopped = "stopped by "
    // The type is explicit, because a plain `nil` would mean the inner optional, and thus a complete run.
    guard text.hasPrefix(stopped), text != stopped else { return Optional<String?>.none }
    return .some(String(text.dropFirst(stopped.count)))
  } text: {
    $0.map { "stopped by \($0)" } ?? "complete"
  }
}
