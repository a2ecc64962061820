import AccessoryCore
import AccessoryRuns

/// Adds up the reports of shards one after another, so that even thousands of reports need only enough memory for one
/// report and the sum.
struct ReportSum<Result: Report> {
  var report: Result
  /// The messages about incomplete shards; these shards are not part of the sum.
  private(set) var unfinished: [String] = []

  init(_ first: ReportInput, _ others: some Collection<String>, _ console: Console) throws {
    var sum = try first.report(Result.self)
    var lastUnfinished = sum.unfinished.map { "\(first.path): \($0)" }
    let progress = ReadingProgress(files: others.count + 1, console)
    defer { progress.end() }
    progress.add(1)
    for path in others {
      defer { progress.add(1) }
      let next = try ReportInput(path).report(Result.self)
      if let reason = next.unfinished {
        unfinished.append("\(path): \(reason)")
        continue
      }
      if let reason = lastUnfinished {
        // The previous reports are an incomplete set of shards, so a new sum begins here.
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

  /// Prints which shards are missing; returns true if none are.
  func tellMissing(_ console: Console) -> Bool {
    for line in unfinished { console.err("easim: \(line): run it again") }
    if let missing = report.shards.missingText { console.err("easim: \(missing)") }
    return unfinished.isEmpty && report.shards.isComplete
  }
}
