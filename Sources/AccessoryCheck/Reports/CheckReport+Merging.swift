import AccessoryFormats
import AccessoryRuns

extension CheckReport {
  /// The verdict. The verdict is "passed" if every case was tried, at least one was judged, and none failed.
  package var verdict: Verdict { verdict(since: nil) }

  /// The verdict, ignoring failures that also occurred in an earlier run.
  package var outcome: Verdict { verdict(since: comparison) }

  private func verdict(since comparison: CheckComparison?) -> Verdict {
    let failed = results.filter(\.fails).map(\.rule).filter { comparison?.broken.contains($0.number) ?? true }
    var reasons: [String] = []
    if !failed.isEmpty {
      let names = failed.map(\.title).joined(separator: ", ")
      reasons.append("\(failed.count.counted("case")) failed: \(names)")
    }
    if let hostile, !hostile.failures.isEmpty { reasons.append(hostile.summary) }
    if case .gone = ending, let unfinished { reasons.append(unfinished) }
    let signal: String? = if case .stopped(let signal) = ending { signal } else { nil }
    return Verdict(wrong: reasons, stoppedBy: signal, gap: gap, nothing: isEmpty && !allowsEmpty ? nothing : nil)
  }

  var nothing: String {
    results.isEmpty
      ? "no case is in \(shards.text.isEmpty ? "the run" : shards.text)"
      : "no case was judged: \(results.count == 1 ? "the only one was" : "all \(results.count) were") skipped"
  }

  package var unfinished: String? {
    let share = shards.share(of: planned.count)
    let part = shards.text.isEmpty ? "the run" : shards.text
    switch ending {
    case .complete where results.count == share: return nil
    case .complete: return "\(part) ended after \(results.count) of \(share.counted("case"))"
    case .stopped(let signal):
      return "\(part) was stopped by \(signal) after \(results.count) of \(share.counted("case"))"
    case .gone(let reason): return "\(part): the accessory did not come back: \(reason)"
    }
  }

  /// Merges the report of another shard of the same run. The shard may have used another unit of the same model with
  /// the same firmware.
  package mutating func add(_ other: CheckReport) throws(ReportSumError) {
    if program != other.program { throw .otherRun("program \(program), and \(other.program)") }
    if planned != other.planned { throw .otherRun("other cases") }
    if let accessory, let unit = other.accessory {
      let facts = [
        ("manufacturer", accessory.manufacturer, unit.manufacturer), ("model", accessory.model, unit.model),
        ("firmware", accessory.firmware, unit.firmware), ("hardware", accessory.hardware, unit.hardware),
      ]
      if let one = facts.first(where: { $0.1 != $0.2 }) {
        throw .otherRun("\(one.0) '\(Excerpt.of(one.1))', and '\(Excerpt.of(one.2))'")
      }
    }
    guard let counted, let more = other.counted, more <= CountSum.most - counted else { throw .tooMuchCounted }
    try shards.add(other.shards)
    allowsEmpty = allowsEmpty && other.allowsEmpty
    let places = Dictionary(planned.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { one, _ in one })
    results = (results + other.results).sorted {
      places[$0.rule.number, default: 0] < places[$1.rule.number, default: 0]
    }
    if place != other.place { place = Self.several }
    accessory?.add(other.accessory)
    if accessory == nil { accessory = other.accessory }
    time += other.time
    attachments += other.attachments
    hostile?.add(other.hostile)
    if hostile == nil { hostile = other.hostile }
    if ending == .complete { ending = other.ending }
  }

  private var counted: Int? {
    var sum = CountSum()
    sum.add(attachments)
    sum.add(hostile?.attacks ?? 0)
    return sum.value
  }

  /// Replaces an address, name or serial number that is not the same in all shards.
  fileprivate static let several = "several"
}

extension CheckReport.Accessory {
  fileprivate mutating func add(_ other: Self?) {
    guard let other else { return }
    if name != other.name { name = CheckReport.several }
    if serial != other.serial { serial = CheckReport.several }
    if protocols != other.protocols { protocols = Set(protocols + other.protocols).sorted() }
  }
}

extension HostileReport {
  fileprivate mutating func add(_ other: HostileReport?) {
    guard let other else { return }
    attacks += other.attacks
    failures = (failures + other.failures).sorted { $0.seed < $1.seed }
  }
}

package struct CheckComparison: Sendable, Equatable {
  /// The case numbers of the cases that fail now but did not fail before.
  package var broken: [Int] = []
  /// The case numbers of the cases that failed before but pass now.
  package var repaired: [Int] = []
  /// The case numbers of the cases that failed before but cannot be judged now.
  package var unjudged: [Int] = []
  /// The case numbers of the cases that fail in both runs.
  package var known: [Int] = []

  /// The firmware version in the earlier run, or nil if it has not changed.
  package var firmware: String?
  /// The cases' titles by case number, for text output.
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
