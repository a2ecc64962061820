import AccessoryFormats
import AccessoryRuns
import IAP2

extension CheckReport: Report {
  package static let kind = "check report"
  /// The limits for report files, which are generous because each failure includes its packets.
  package static let limits = JSON5.Limits(bytes: 16 << 20, depth: 16)
  package static let format = Record(kind, "what `easim check` found", CheckReport(place: "")) {
    headerFields
    verdictFields
    Field("place", \.place, .text, "the address of the accessory", isRequired: true)
    Field("accessory", \.accessory, .optional(.object(Accessory.format)), "the accessory's identification")
    Field("seconds", \.time, .figure, "how long the run took", isRequired: true)
    Field("attachments", \.attachments, .tally, "number of times the accessory was plugged in", isRequired: true)
    Field("ending", \.ending, .ending, "`complete`, `stopped by` a signal, or `gone` with a reason", isRequired: true)
    Field("allowEmpty", \.allowsEmpty, .boolean, "whether the run passes even if no case was judged")
    Field(confirmed: "casesPassed", .tally, "number of passed cases") { $0.counts.passed }
    Field(confirmed: "casesFailed", .tally, "number of failed cases") { $0.counts.failed }
    Field(confirmed: "casesWarning", .tally, "number of broken rules with the severity warning") { $0.counts.warnings }
    Field(confirmed: "casesNote", .tally, "number of broken rules with the severity note") { $0.counts.notes }
    Field(confirmed: "casesSkipped", .tally, "number of skipped cases") { $0.counts.skipped }
    Field("cases", \.results, .list(of: .result, count: 0...10_000), "the cases that were judged", isRequired: true)
    Field(
      "order", \.order,
      .optional(.words([("authentication", .authenticationFirst), ("identification", .identificationFirst)])),
      "what the device requested first")
    Field("hostile", \.hostile, .optional(.object(HostileReport.format)), "what attacks found")
    Field("program", \.program, .text, "the program and its version")
    Field("shards", \.shards, .shards, "the shards in the report; absent for a whole run")
    Field(
      "planned", \.planned, .list(of: .integer(0...1_000_000), count: 0...10_000), "the cases of the whole run",
      standard: Standard("those that were judged") { $0.results.map(\.rule.number) })
  }.checked { report, object in
    let numbers = Set(report.planned)
    if numbers.count != report.planned.count || Set(report.results.map(\.rule.number)).count != report.results.count
      || !report.results.allSatisfy({ numbers.contains($0.rule.number) })
    {
      object.error("cases", "a case appears twice, or was not planned")
    }
    let share = report.shards.share(of: report.planned.count)
    if report.results.count > share || report.ending == .complete && report.results.count < share {
      object.error(
        "cases", "has \(report.results.count.counted("case")), but a complete run of the planned cases has \(share)")
    }
    // The accessory is also plugged in once per attack.
    let judged = report.counts.passed + report.counts.failed
    if judged > 0, report.attachments == 0 {
      object.error("attachments", "is 0, but \(judged.counted("case was", "cases were")) judged")
    }
    if let hostile = report.hostile, hostile.failures.count > hostile.attacks {
      object.error("hostile", "\(hostile.failures.count) of \(hostile.attacks.counted("attack")) failed")
    }
  }

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

extension CheckReport.Ending {
  package var text: String {
    switch self {
    case .complete: "complete"
    case .stopped(let signal): "stopped by \(signal)"
    case .gone(let reason): "gone: \(reason)"
    }
  }

  fileprivate init?(text: String) {
    switch text {
    case "complete": self = .complete
    // Earlier versions of easim wrote only "stopped".
    case "stopped": self = .stopped(by: "a signal")
    case _ where text.hasPrefix("stopped by "): self = .stopped(by: String(text.dropFirst("stopped by ".count)))
    case _ where text.hasPrefix("gone: "): self = .gone(String(text.dropFirst("gone: ".count)))
    default: return nil
    }
  }
}

extension CheckReport.Accessory {
  fileprivate static let format = Record("accessory", "the accessory's identification", Self()) {
    Field("name", \.name, .text, "its name", isRequired: true)
    Field("manufacturer", \.manufacturer, .text, "who made it", isRequired: true)
    Field("model", \.model, .text, "its model", isRequired: true)
    Field("serial", \.serial, .text, "its serial number", isRequired: true)
    Field("firmware", \.firmware, .text, "its firmware version", isRequired: true)
    Field("hardware", \.hardware, .text, "its hardware version", isRequired: true)
    Field("protocols", \.protocols, .list(of: .text, count: 0...1_000), "its protocols", isRequired: true)
  }
}

extension CheckResult {
  /// The result as a single JSON object, used as a line of `--json` output and as an entry in a report.
  package var json: JSONObject { JSONObject(CheckEntry.format.tree(CheckEntry(self))) }
}

/// A result as written in a report, including a description of the case for human readers.
private struct CheckEntry: Equatable {
  var number = 0
  var name = ""
  /// A description of the case. easim reads the description back only for the user's own cases.
  var sentence = ""
  var sources: [String] = []
  var severity = ""
  var time = Duration.zero
  var kind = CheckResult.Word.passed
  var reason: String?
  var text: String?
  var fix: String?
  var packets: [CheckProof]?

  static let format = Record("case", "a case that was judged", CheckEntry()) {
    Field("number", \.number, .integer(0...1_000_000), "its number", isRequired: true)
    Field("name", \.name, .text, "its name", isRequired: true)
    Field("sentence", \.sentence, .text, "its rule")
    Field("sources", \.sources, .list(of: .text, count: 0...100), "the sources of the rule")
    Field("severity", \.severity, .text, "the severity of a broken rule")
    Field("seconds", \.time, .figure, "how long it took", isRequired: true)
    Field("result", \.kind, .choice, "the outcome of the case", isRequired: true)
    Field("reason", \.reason, .optional(.text), "why it was skipped")
    Field("text", \.text, .optional(.text), "what was found")
    Field("fix", \.fix, .optional(.text), "what to change in the firmware")
    Field(
      "packets", \.packets, .optional(.list(of: .object(CheckProof.format), count: 0...10_000)),
      "the packets that prove the failure")
  }.checked { entry, object in
    if entry.kind == .passed, entry.reason != nil { object.error("reason", "a case that passed was not skipped") }
    guard [.passed, .skipped].contains(entry.kind) else { return }
    for key in ["text", "fix", "packets"] where object.value(key) != nil {
      object.error(key, "the case has not failed")
    }
  }

  init() {}

  init(_ result: CheckResult) {
    (number, name, time) = (result.rule.number, result.rule.name, result.time)
    (sentence, severity) = (result.rule.sentence, result.rule.severity.rawValue)
    sources = result.rule.sources.map(\.rawValue)
    kind = result.word
    switch result.outcome {
    case .passed: break
    case .skipped(let reason): self.reason = reason
    case .failed(let failure):
      (text, packets) = (failure.text, failure.proof)
      fix = result.rule.fix
    }
  }

  /// The result, or nil if the case is unknown to this version of easim.
  var result: CheckResult? {
    guard let rule = CheckCase.all.first(where: { $0.number == number && $0.name == name }) ?? ownCase else {
      return nil
    }
    let outcome: CheckOutcome =
      switch kind {
      case .passed: .passed
      case .skipped: .skipped(reason ?? "")
      case .failed, .warning, .note: .failed(CheckFailure(text ?? "", packets ?? []))
      }
    return CheckResult(rule: rule, outcome: outcome, time: time, isStrict: kind == .failed && rule.severity != .error)
  }

  /// One of the user's own cases, which can be read back without the file that defines the case.
  private var ownCase: CheckCase? {
    guard CheckCase.ownIDs.contains(number - CheckCase.firstOwn), name == "own-\(number - CheckCase.firstOwn)",
      let severity = CheckCase.Severity(rawValue: severity)
    else { return nil }
    return CheckCase(number, name, sentence, [.own], severity, fix: fix ?? "") { _ in
      throw CheckSkip("the case was read from a report")
    }
  }
}

extension CheckProof {
  fileprivate static let format = Record(
    "packet", "a part of the traffic on the wire",
    Self(time: .zero, direction: .fromAccessory, bytes: [], length: 0, text: "", marks: [])
  ) {
    Field("seconds", \.time, .figure, "time since the cable was plugged in", isRequired: true)
    Field("from", \.direction, .choice, "the end that sent the bytes", isRequired: true)
    Field("text", \.text, .text, "what it is", isRequired: true)
    Field("bytes", \.bytes, .digits, "the first bytes, in hex", isRequired: true)
    Field("length", \.length, .tally, "number of bytes", isRequired: true)
    Field("marks", \.marks, .list(of: .mark, count: 0...10_000), "the bytes in question", isRequired: true)
  }
}

extension HostileReport {
  fileprivate static let format = Record("hostile", "what attacks found", HostileReport()) {
    Field("attacks", \.attacks, .tally, "number of attacks", isRequired: true)
    Field(
      "failures", \.failures, .list(of: .object(Failure.format), count: 0...100_000),
      "attacks that the accessory did not survive",
      isRequired: true)
  }
}

extension HostileReport.Failure {
  fileprivate static let format = Record("failure", "an attack", Self(seed: 0, text: "", steps: [], bytes: [])) {
    Field("seed", \.seed, .integer(0...UInt64(Int.max)), "its seed", isRequired: true)
    Field("text", \.text, .text, "what happened", isRequired: true)
    Field("steps", \.steps, .list(of: .text, count: 0...10_000), "what it did", isRequired: true)
    Field("bytes", \.bytes, .digits, "the bytes of the shortest attack, in hex", isRequired: true)
  }
}

// MARK: - Values

extension Format<Duration> {
  /// A duration in seconds, with nanosecond precision.
  fileprivate static let figure = Format(.number(0...1e9)) { value, place in
    guard case .number(let number) = value.content, 0...1e9 ~= number.value else {
      return place.expected("a number of seconds", value)
    }
    return .nanoseconds(Int((number.value * 1e9).rounded()))
  } write: { time in
    JSON5Value(.number(JSON5Number(spelling: "\(time.inSeconds)", value: time.inSeconds, integer: nil)))
  }
}

extension Format<CheckReport.Ending> {
  fileprivate static let ending = parsed(
    TextShape(pattern: "^(complete|stopped by .+|gone: .*)$"), expected: "how a run ends",
    { CheckReport.Ending(text: $0) },
    text: \.text)
}

extension Format<Range<Int>> {
  /// A range of bytes, stored as the position of the first byte and the position after the last byte.
  fileprivate static let mark = Format<[Int]>.list(of: .tally, count: 2...2).map {
    $0.count == 2 && $0[0] <= $0[1] ? $0[0]..<$0[1] : nil
  } otherwise: {
    "the range ends before it begins"
  } back: {
    [$0.lowerBound, $0.upperBound]
  }
}

extension Format<CheckResult> {
  fileprivate static let result = CheckEntry.format.format.map {
    $0.result
  } otherwise: {
    "this easim has no such case"
  } back: {
    CheckEntry($0)
  }
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
