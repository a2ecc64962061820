import AccessoryFormats

/// The changes since an earlier run.
public struct CheckComparison: Sendable, Equatable {
  /// Cases that newly fail.
  public var broken: [Int] = []
  /// Cases that failed before and pass now.
  public var repaired: [Int] = []
  /// Cases that failed before and cannot be judged now.
  public var unjudged: [Int] = []
  /// Cases that fail in both runs.
  public var known: [Int] = []

  /// Compares a report with an earlier one.
  public init(_ report: CheckReport, since earlier: CheckReport) {
    let failed = Set(earlier.failures.map(\.rule.number))
    for result in report.results {
      let number = result.rule.number
      let was = failed.contains(number)
      switch result.outcome {
      case .failed: if was { known.append(number) } else { broken.append(number) }
      case .passed: if was { repaired.append(number) }
      case .skipped: if was { unjudged.append(number) }
      }
    }
  }

  /// A line for each change.
  public var lines: [String] {
    [("new", broken), ("repaired", repaired), ("not judged this time", unjudged), ("as before", known)].compactMap {
      $0.1.isEmpty ? nil : "\($0.0): \($0.1.map { number in Self.name(number) }.joined(separator: ", "))"
    }
  }

  private static func name(_ number: Int) -> String {
    "\(number)" + (CheckCase.all.first { $0.number == number }.map { " \($0.name)" } ?? "")
  }
}
