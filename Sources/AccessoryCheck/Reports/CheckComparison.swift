import AccessoryFormats

/// The changes since an earlier run.
public struct CheckComparison: Sendable, Equatable {
  /// The numbers of cases that newly fail.
  public var broken: [Int] = []
  /// The numbers of cases that failed before and pass now.
  public var repaired: [Int] = []
  /// The numbers of cases that failed before and cannot be judged now.
  public var unjudged: [Int] = []
  /// The numbers of cases that fail in both runs.
  public var known: [Int] = []

  /// The firmware version in the earlier run, if it differs from this run's version.
  public var firmware: String?
  /// The titles of the cases, by number, for text output.
  private var titles: [Int: String] = [:]

  /// Compares a report with an earlier one.
  public init(_ report: CheckReport, since earlier: CheckReport) {
    let failed = Set(earlier.failures.map(\.rule.number))
    if let version = earlier.accessory?.firmware, version != report.accessory?.firmware { firmware = version }
    for result in report.results {
      let number = result.rule.number
      titles[number] = result.rule.title
      let was = failed.contains(number)
      switch result.outcome {
      case .failed: if was { known.append(number) } else { broken.append(number) }
      case .passed: if was { repaired.append(number) }
      case .skipped: if was { unjudged.append(number) }
      }
    }
  }

  /// The changes as text, one line each.
  public var lines: [String] {
    [("new", broken), ("repaired", repaired), ("not judged this time", unjudged), ("as before", known)].compactMap {
      $0.1.isEmpty ? nil : "\($0.0): \($0.1.map { number in titles[number] ?? "\(number)" }.joined(separator: ", "))"
    }
  }
}
