import AccessoryCore
import AccessoryFormats
import AccessoryRuns

extension BurstReport {
  /// The results of checking the rate and the limits.
  public var checks: [ReportCheck] {
    // The limits apply to the whole run, but a shard has only some of the bursts.
    (plan.hasRate ? [rateCheck] : []) + judgedLimits.map { $0.check(self) }
  }

  private var rateCheck: ReportCheck {
    let asked =
      "asked for \(phases.isEmpty ? plan.pace : "the rates of the phases")\(runs > 1 ? " in each of \(runs) runs" : "")"
    let came = "\(FixedText.text(burstsPerSecond, places: 1)) bursts/s achieved"
    let late = "\(overdue.counted("burst was", "bursts were")) overdue"
    let holds = overdue == 0 || allowsOverdue
    return ReportCheck(
      goal: "rate kept", passed: holds,
      text: overdue == 0 ? "\(asked), none was overdue" : "\(asked), \(came), \(late)",
      cause: holds ? nil : faultCause)
  }

  /// The faults that may explain why the run was slow, or nil if there were none.
  var faultCause: String? {
    if plan.faults.isEmpty { return nil }
    let (repeated, faults) = (link.retransmissions + link.hastened, plan.faults.joined(separator: "; "))
    return repeated > 0
      ? "\(repeated.counted("packet was", "packets were")) retransmitted because of \(faults)"
      : "slowed down by \(faults)"
  }

  /// The limits that can be checked, or an empty array if shards are missing.
  var judgedLimits: [BurstLimit] { shards.isComplete ? limits : [] }

  /// Adds limits to the report of a run that has ended. The report fails if any of these limits is not met.
  public mutating func require(_ more: [BurstLimit]) {
    limits += more.filter { !limits.contains($0) }
  }

  // MARK: Verdict

  /// The outcome of the run. The verdict depends only on the figures and the plan, so a report that is read from a file
  /// has the same verdict as its run.
  public var verdict: Verdict {
    var reasons = checks.filter { !$0.passed }.map(\.line) + wrongs
    let stops = stops
    if reasons.isEmpty { reasons = otherEndings }
    if reasons.isEmpty {
      if !stops.isEmpty { return .stopped(by: "\(stops.joined(separator: ", ")) after \(extentText)") }
      if completed == 0, begun > 0 || !allowsEmpty {
        return .empty(begun == 0 ? "nothing was measured: no burst was sent" : "no burst was completed")
      }
    } else if completed == 0, begun > 0 {
      reasons.append("no burst was completed")
    }
    return Verdict(reasons: reasons + stops.map { "\(Self.stopPrefix)\($0)" })
  }

  /// The verdict. The verdict also fails if there are regressions from the baseline.
  public var outcome: Verdict {
    let worse = comparison?.figures.filter(\.isRegression).map { "worse than the baseline: \($0.description)" } ?? []
    return worse.isEmpty ? verdict : .failed(verdict.reasons + worse)
  }

  /// The reasons why the run did not pass, as one sentence each, or an empty array if the run passed.
  public var reasons: [String] { verdict.reasons }

  static let stopPrefix = "stopped by "
  private var endings: [Substring] { ending.split(separator: "; ") }
  private var stops: [Substring] {
    endings.filter { $0.hasPrefix(Self.stopPrefix) }.map { $0.dropFirst(Self.stopPrefix.count) }
  }
  private var otherEndings: [String] {
    endings.filter { $0 != Self.doneEnding && !$0.hasPrefix(Self.stopPrefix) }.map(String.init)
  }
  static let doneEnding = "\(BurstRunner.Outcome.done)"

  func failing(_ kind: ErrorKind) -> ErrorTally? {
    // Even if the plan allows lost bursts, they count as errors if losing them ended the run.
    if kind == .lost, allowsLost, otherEndings.isEmpty { return nil }
    return errors[kind].flatMap { $0.count > 0 ? $0 : nil }
  }

  private var wrongs: [String] {
    var found = ErrorKind.allCases.compactMap { kind in
      failing(kind).map { "\(FixedText.grouped($0.count)) \(kind.title): \($0.first)" }
    }
    if lost > 0, !allowsLost, errors.isEmpty { found.append("\(lost.counted("burst was", "bursts were")) lost") }
    if let mismatchText, errors[.different] == nil, errors[.unexpected] == nil {
      found.append("wrong bytes came back: \(mismatchText)")
    }
    if unaskedBytes > 0, !plan.ignoresReplies {
      found.append("\(unaskedBytes.counted("byte")) arrived without being requested by a burst")
    }
    if found.isEmpty, stops.isEmpty, otherEndings.isEmpty, isShort { found.append("it ended after \(extentText)") }
    return found
  }

  private var isShort: Bool {
    plan.count.map { completed + lost < $0 } ?? false || plan.time.map { measured < $0 } ?? false
  }

  private var extentText: String {
    if let time = plan.time { return "\(FixedText.span(measured)) of \(FixedText.span(time))" }
    let asked = plan.count.map { " of \(FixedText.grouped($0))" } ?? ""
    return "\(FixedText.grouped(completed))\(asked) \((plan.count ?? completed) == 1 ? "burst" : "bursts")"
  }

  /// Advice to print if accessories accepted bursts but did not reply to any, or nil otherwise.
  public var advice: String? {
    guard errors[.timedOut] != nil, completed + warmUp == 0, plan.verification != "none",
      series.slices.allSatisfy({ $0.received == 0 })
    else { return nil }
    return "no bytes came back: run --probe to find out which --verify suits the accessory"
  }

  /// The figures that contradict other figures, each with its key and an explanation. The sum of all the report's
  /// counts must be less than ``CountSum/most``.
  var contradictions: [(key: String, text: String)] {
    var found: [(key: String, text: String)] = []
    func require(_ holds: Bool, _ key: String, _ text: @autoclosure () -> String) {
      if !holds, found.last?.key != key { found.append((key, text())) }
    }
    require(runs > 0, "runs", "is 0, but a report covers at least one run")
    require(
      plan.count != nil || plan.time != nil, "plan",
      "'count' and 'forNanoseconds' are missing: one of them must give the planned extent of the run")
    require(completed == latency.total, "completed", "is \(completed), but there are \(latency.total) latencies")
    // Bursts that are lost during the warm-up count as errors, but are not included in `lost`.
    let allLost = max(lost, errors[.lost]?.count ?? 0)
    let over = completed + warmUp + lost
    require(over <= begun, "begun", "is \(begun), which is fewer than were completed or lost")
    if isDone {
      require(
        begun == completed + warmUp + allLost, "begun",
        "is \(begun), but \(completed + warmUp + allLost) were completed or lost and the run is complete")
    }
    // A merged report may include a run that had a rate, even if the report's own plan has none.
    require(overdue == 0 || plan.hasRate || runs > 1, "overdue", "is \(overdue), but no burst is due without a rate")
    require(service.total <= completed, "service", "has \(service.total) values for \(completed) bursts")
    require(begun == 0 || !sites.isEmpty, "sites", "there is no accessory, but \(begun.counted("burst")) began")
    let longest = Duration.nanoseconds(latency.maximum ?? 0)
    require(longest <= measured, "measuredNanoseconds", "is shorter than the longest latency")
    func sum<Part>(_ parts: [Part], _ count: (Part) -> Int) -> Int { parts.reduce(0) { $0 + count($1) } }
    let slices = series.slices
    require(
      sum(slices, \.bursts) == completed, "completed",
      "is \(completed), but the time slices have \(sum(slices, \.bursts))")
    require(sum(slices, \.bytes) == bytes, "bytes", "is \(bytes), but the time slices have \(sum(slices, \.bytes))")
    require(
      sum(slices, \.errors) <= errorCount, "errors",
      "are \(errorCount), but the time slices have \(sum(slices, \.errors))")
    // Reports written by earlier versions of easim contain neither sizes nor a latency map.
    require([0, completed].contains(sizes.total), "sizes", "has \(sizes.total) values for \(completed) bursts")
    let mapped = sum(map.cells) { $0[2] }
    require([0, completed].contains(mapped), "latencyMap", "has \(mapped) values for \(completed) bursts")
    require(
      phases.allSatisfy { $0.completed == $0.latency.total } && sum(phases, \.completed) <= completed, "phases",
      "have counts that differ from the run's")
    require(
      payloads.allSatisfy { $0.completed == $0.latency.total }
        && (payloads.isEmpty || sum(payloads, \.completed) == completed && sum(payloads, \.bytes) == bytes), "payloads",
      "have counts that differ from the run's")
    let (sessions, attachments) = (sites.flatMap(\.sessions), sites.flatMap(\.attachments))
    let isPossible =
      sum(sessions, \.completed) <= completed && sum(attachments, \.completed) <= completed + warmUp
      && max(sum(sessions, \.lost), sum(attachments, \.lost)) <= max(0, begun - completed - warmUp)
    require(isPossible, "sites", "have more bursts than the run")
    return found
  }

  private var isDone: Bool { !ending.isEmpty && ending.split(separator: "; ").allSatisfy { $0 == Self.doneEnding } }
}

extension BurstReport.Plan {
  var ignoresReplies: Bool { verification == "none" || bursts.contains { $0.contains("→ none") } }

  var hasRate: Bool { pace != Self.closedLoop }

  static let closedLoop = "closed loop"

  /// Returns the differences between this plan and `other`, as one sentence per difference. The results of different
  /// plans cannot be compared.
  func differences(from other: Self) -> [String] {
    var found: [String] = []
    func compare(_ name: String, _ mine: String, _ theirs: String) {
      if mine != theirs {
        found.append("\(name) \(mine.isEmpty ? "none" : mine), not \(theirs.isEmpty ? "none" : theirs)")
      }
    }
    func list(_ texts: [String]) -> String { texts.joined(separator: "; ") }
    if size > 0, other.size > 0 {
      compare("size", FixedText.grouped(size), FixedText.grouped(other.size))
    } else if size != other.size || isScript != other.isScript || bursts.count != other.bursts.count {
      compare("bursts of", sizeText, other.sizeText)
    } else {
      for (index, (mine, theirs)) in zip(bursts, other.bursts).enumerated() {
        compare(bursts.count == 1 ? "bursts of" : "\(isScript ? "request" : "payload") \(index + 1)", mine, theirs)
      }
    }
    compare("think time", think, other.think)
    compare("rates by accessory", list(shares), list(other.shares))
    compare("sessions", "\(sessions)", "\(other.sessions)")
    compare("in flight", "\(inFlight)", "\(other.inFlight)")
    compare("pace", pace, other.pace)
    compare("verification", verification, other.verification)
    compare("pattern", pattern, other.pattern)
    compare("faults", faults.joined(separator: "; "), other.faults.joined(separator: "; "))
    return found
  }
}

/// A comparison with an earlier run, which finds figures that are worse by more than a tolerance.
///
/// ```swift
/// let comparison = BaselineComparison(of: report, with: baseline, tolerance: 0.1)
/// comparison.passed   // false when throughput fell or latency rose by more than a tenth
/// ```
public struct BaselineComparison: Equatable, Sendable {
  /// A figure that appears in both runs.
  public struct Figure: Equatable, Sendable {
    /// The figure's name.
    public let name: String
    /// The value in the baseline.
    public let before: Double
    /// The value in this run.
    public let now: Double
    /// Whether a higher value is better.
    public let moreIsBetter: Bool
    /// Whether the figure is worse by more than the tolerance.
    public let isRegression: Bool
    let unit: ReportFigure.Unit
    let tolerance: Double

    /// Text such as "p99: 4.11 ms, was 3.02 ms (+36.1 %)".
    public var description: String {
      let change = before > 0 ? ReportTrend.change(from: before, to: now) * 100 : 0
      let percent = FixedText.text(change, places: 1, unlike: (moreIsBetter ? -100 : 100) * tolerance)
      return "\(name): \(unit.text(now)), was \(unit.text(before)) (\(change < 0 ? "" : "+")\(percent) %)"
    }

    /// Figures are equal if they are printed the same way.
    public static func == (left: Figure, right: Figure) -> Bool {
      left.description == right.description && left.isRegression == right.isRegression
    }
  }

  /// The fraction by which a figure may be worse than in the baseline.
  public let tolerance: Double
  /// The compared figures.
  public let figures: [Figure]

  /// Compares two runs by their throughput, their p50, p90 and p99 latencies, and their errors.
  public init(of report: BurstReport, with baseline: BurstReport, tolerance: Double) {
    self.tolerance = tolerance
    let before = baseline.figures
    // Even one additional error is a regression.
    figures = report.figures.filter { ["throughput", "p50", "p90", "p99", "errors"].contains($0.name) }.map { now in
      let was = before.first { $0.name == now.name }?.value ?? 0
      let moreIsBetter = now.moreIsBetter == true
      let tolerance = now.name == "errors" ? 0 : tolerance
      let change = was > 0 ? ReportTrend.change(from: was, to: now.value) : now.value > 0 ? .infinity : 0
      return Figure(
        name: now.name, before: was, now: now.value, moreIsBetter: moreIsBetter,
        isRegression: moreIsBetter ? change < -tolerance : change > tolerance,
        unit: now.unit, tolerance: tolerance)
    }
  }

  /// Whether no figure is worse by more than the tolerance.
  public var passed: Bool { !figures.contains(where: \.isRegression) }

  /// The comparison as a JSON object.
  public var json: JSONObject {
    let rows = figures.map { figure -> JSONObject in
      ["name": figure.name, "before": figure.before, "now": figure.now, "isRegression": figure.isRegression]
    }
    return ["passed": passed, "tolerance": tolerance, "figures": rows]
  }

  /// The comparison as comments, which are lines that begin with `#`.
  public var commentLines: String { text.split(separator: "\n").map { "# \($0)\n" }.joined() }

  /// The comparison as text, with one line for each figure.
  public var text: String {
    let title = "compared with the baseline, \(FixedText.text(tolerance * 100, places: 1)) % tolerated"
    return ([title] + figures.map { "  \($0.isRegression ? "worse   " : "within  ")\($0.description)" })
      .joined(separator: "\n")
  }
}
