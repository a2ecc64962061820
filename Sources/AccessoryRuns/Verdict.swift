import AccessoryFormats

/// The outcome of a run.
///
/// Reports do not store a verdict but compute it from their figures and plan. The exit code is 0 only for ``passed``.
public enum Verdict: Equatable, Sendable {
  case passed
  /// Something failed, for the given reasons.
  case failed([String])
  /// The run was stopped by a signal or for another reason before it had completed its plan. Nothing had failed until
  /// then.
  case stopped(by: String)
  /// The run had nothing to compare, for the given reason.
  case empty(String)

  /// Creates a failed verdict with these reasons, or ``passed`` if there are none.
  public init(reasons: [String]) { self = reasons.isEmpty ? .passed : .failed(reasons) }

  /// Creates a verdict from the first of these that is present: failures, the cause of a stop, planned work that was
  /// not done, or the reason there was nothing to judge.
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

  /// The word for this verdict in reports.
  public var word: String {
    switch self {
    case .passed: "passed"
    case .failed: "failed"
    case .stopped: "stopped"
    case .empty: "empty"
    }
  }

  /// The reasons why the run did not pass, as one sentence each, or an empty array if the run passed.
  public var reasons: [String] {
    switch self {
    case .passed: []
    case .failed(let reasons): reasons
    case .stopped(let signal): ["stopped by \(signal)"]
    case .empty(let reason): [reason]
    }
  }

  /// The verdict's word, capitalized for use in a headline.
  package var title: String { word.prefix(1).uppercased() + word.dropFirst() }
}

extension Format<String?> {
  /// How a run ended: `complete`, which is represented as nil, or `stopped by` followed by the cause.
  public static let ending = Format<String?>.parsed(
    TextShape(pattern: "^(complete|stopped by .+)$"), expected: "complete, or 'stopped by' and a signal"
  ) { text in
    if text == "complete" { return .some(nil) }
    let stopped = "stopped by "
    // A plain `nil` would mean the inner optional, which represents a complete run.
    guard text.hasPrefix(stopped), text != stopped else { return Optional<String?>.none }
    return .some(String(text.dropFirst(stopped.count)))
  } text: {
    $0.map { "stopped by \($0)" } ?? "complete"
  }
}
