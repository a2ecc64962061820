import AccessoryCore
import AccessoryFormats
import AccessoryRuns
import IAP2

/// The results of a check.
public struct CheckReport: Sendable, Equatable {
  /// The accessory's identification.
  public struct Accessory: Equatable, Sendable {
    /// The strings from the identification.
    public var name = "", manufacturer = "", model = "", serial = "", firmware = "", hardware = ""
    /// The External Accessory protocols.
    public var protocols: [String] = []
  }

  /// How the run ended.
  public enum Ending: Equatable, Sendable {
    case complete
    case stopped(by: String)
    case gone(String)
  }

  /// The program and its version; empty if they are not known.
  public var program = ""
  /// The numbers of the cases that the whole run was to include.
  public var planned: [Int] = []
  /// The shards that the report contains.
  public var shards = ShardSet.whole
  /// The address of the accessory.
  public var place: String
  /// The accessory's identification; nil if it never identified itself.
  public var accessory: Accessory?
  /// The results in the order in which the cases ran.
  public var results: [CheckResult] = []
  /// How long the run took.
  public var time = Duration.zero
  /// The number of times the accessory was plugged in.
  public var attachments = 0
  /// The results of attacks, if they were requested.
  public var hostile: HostileReport?
  /// The step with which the device began, authentication or identification; nil if it is not known.
  public var order: DevicePeer.Settings.Order?
  /// How the run ended.
  public var ending = Ending.complete
  /// Whether the run passes even if no case was judged.
  public var allowsEmpty = false
  /// The changes since an earlier run; not restored when a report is read from a file.
  public var comparison: CheckComparison?

  init(place: String) { self.place = place }

  /// All broken rules, whatever their severity, each with its failure.
  public var failures: [(rule: CheckCase, failure: CheckFailure)] {
    results.compactMap { if case .failed(let failure) = $0.outcome { ($0.rule, failure) } else { nil } }
  }

  /// The number of cases with each outcome.
  public var counts: (passed: Int, failed: Int, warnings: Int, notes: Int, skipped: Int) {
    func count(_ word: CheckResult.Word) -> Int { results.count { $0.word == word } }
    return (count(.passed), count(.failed), count(.warning), count(.note), count(.skipped))
  }

  /// Whether the run judged no case: no case was run or all were skipped, and no attack was made.
  var isEmpty: Bool { results.allSatisfy(\.outcome.isSkipped) && hostile?.attacks ?? 0 == 0 }

  /// A line such as "61 passed, 2 failed, 1 warning, 3 notes, 20 skipped".
  public var summary: String {
    let counts = counts
    let lesser = [
      counts.warnings > 0 ? counts.warnings.counted("warning") : nil,
      counts.notes > 0 ? counts.notes.counted("note") : nil,
    ].compactMap(\.self)
    return (["\(counts.passed) passed", "\(counts.failed) failed"] + lesser + ["\(counts.skipped) skipped"])
      .joined(separator: ", ") + (shards.text.isEmpty ? "" : " (\(shards.text))")
  }
}

extension DevicePeer.Settings.Order {
  var text: String {
    switch self {
    case .authenticationFirst: "authentication first, then identification"
    case .identificationFirst: "identification first, then authentication"
    }
  }
}
