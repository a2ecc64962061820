import AccessoryCore
import AccessoryFormats
import AccessoryRuns
import IAP2

/// The results of a check.
package struct CheckReport: Sendable, Equatable {
  /// The accessory's identification.
  package struct Accessory: Equatable, Sendable {
    package var name = "", manufacturer = "", model = "", serial = "", firmware = "", hardware = ""
    package var protocols: [String] = []
  }

  package enum Ending: Equatable, Sendable {
    case complete
    case stopped(by: String)
    case gone(String)
  }

  /// The name and version of the program, or an empty string if unknown.
  package var program = ""
  /// The case numbers of all cases that the whole run should include.
  package var planned: [Int] = []
  package var shards = ShardSet.whole
  /// The accessory's address.
  package var place: String
  /// The accessory's identification, or nil if the accessory never identified itself.
  package var accessory: Accessory?
  /// The results, in the order the cases ran.
  package var results: [CheckResult] = []
  package var time = Duration.zero
  /// How many times the accessory was plugged in.
  package var attachments = 0
  /// The results of attacks, or nil if the user did not request any.
  package var hostile: HostileReport?
  /// The step that the device took first (authentication or identification), or nil if unknown.
  package var order: DevicePeer.Settings.Order?
  package var ending = Ending.complete
  /// Whether the run passes even if no case is judged.
  package var allowsEmpty = false
  /// The changes since an earlier run. easim does not read these changes back from report files.
  package var comparison: CheckComparison?

  init(place: String) { self.place = place }

  /// All rules that were broken, whatever their severity, each with its failure.
  package var failures: [(rule: CheckCase, failure: CheckFailure)] {
    results.compactMap { if case .failed(let failure) = $0.outcome { ($0.rule, failure) } else { nil } }
  }

  package var counts: (passed: Int, failed: Int, warnings: Int, notes: Int, skipped: Int) {
    func count(_ word: CheckResult.Word) -> Int { results.count { $0.word == word } }
    return (count(.passed), count(.failed), count(.warning), count(.note), count(.skipped))
  }

  /// Whether no case was judged and no attack was made.
  var isEmpty: Bool { results.allSatisfy(\.outcome.isSkipped) && hostile?.attacks ?? 0 == 0 }

  /// A line such as "61 passed, 2 failed, 1 warning, 3 notes, 20 skipped".
  package var summary: String {
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
