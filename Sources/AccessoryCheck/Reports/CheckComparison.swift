import AccessoryFormats

/// The changes since an earlier run.
package struct CheckComparison: Sendable, Equatable {
  /// The numbers of cases that newly fail.
  package var broken: [Int] = []
  /// The numbers of cases that failed before and pass now.
  package var repaired: [Int] = []
  /// The numbers of cases that failed before and cannot be judged now.
  package var unjudged: [Int] = []
  /// The numbers of cases that fail in both runs.
  package var known: [Int] = []

  /// The firmware version in the earlier run, if it differs from this run's version.
  package var firmware: String?
  /// The titles of the cases, by number, for text output.
  private var titles: [Int: String] = [:]

  package init(_ report: CheckReport, since earlier: CheckReport) {
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

  package var lines: [String] {
    [("new", broken), ("repaired", repaired), ("not judged this time", unjudged), ("as before", known)].compactMap {
      $0.1.isEmpty ? nil : "\($0.0): \($0.1.map { number in titles[number] ?? "\(number)" }.joined(separator: ", "))"
    }
  }
}
