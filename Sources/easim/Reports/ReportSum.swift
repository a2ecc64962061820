import AccessoryCore
import AccessoryRuns

/// Adds up the reports of shards, one after the other, so that thousands take the memory of one and of the sum.
struct ReportSum<Result: Report> {
  /// The sum.
  var report: Result
  /// Shards that were not done, which are not in the sum: what to tell of each.
  private(set) var unfinished: [String] = []

  init(_ first: ReportInput, _ others: some Sequence<String>, _ console: Console) throws {
    var sum = try first.report(Result.self)
    var lastUnfinished = sum.unfinished.map { "\(first.path): \($0)" }
    for path in others {
      let next = try ReportInput(path).report(Result.self)
      if let reason = next.unfinished {
        unfinished.append("\(path): \(reason)")
        continue
      }
      if let reason = lastUnfinished {
        // What came before was not done: the sum begins here.
        unfinished.append(reason)
        lastUnfinished = nil
        sum = next
        continue
      }
      let differences = next.differences(from: sum)
      if !differences.isEmpty {
        console.err(
          "easim: warning: the reports have different plans: \(path) has \(differences.joined(separator: "; "))")
      }
      do { try sum.add(next) } catch { throw UsageError("\(path): with this report, \(error)") }
    }
    if let lastUnfinished { unfinished.insert(lastUnfinished, at: 0) }
    report = sum
  }

  /// Says what is missing; whether nothing is.
  func tellMissing(_ console: Console) -> Bool {
    for line in unfinished { console.err("easim: \(line): run it again") }
    if let missing = report.shards.missingText { console.err("easim: \(missing)") }
    return unfinished.isEmpty && report.shards.isComplete
  }
}
