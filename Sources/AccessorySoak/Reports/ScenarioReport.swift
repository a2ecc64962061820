import AccessoryFormats
import AccessoryRuns

/// The results of `easim scenario run --all`, for the whole run or for some of its shards.
///
/// Scenarios run in virtual time, so the report does not depend on the machine or the clock. The merged report of all
/// shards is identical, byte for byte, to the report of a single run.
public struct ScenarioReport: Equatable, Sendable {
  /// One scenario that was played.
  public struct Run: Equatable, Sendable {
    /// The name of the scenario.
    public var scenario = ""
    /// The scenario's summary.
    public var summary = ""
    /// The app that was used.
    public var client = ""
    /// Whether all expectations were met.
    public var passed = false
    /// What the app observed, including any difference from what was expected.
    public var text = ""
    /// How long the scenario took, in virtual time.
    public var length = Duration.zero
    /// The timeline, which is kept only for failed scenarios.
    public var timeline: [String] = []

    /// Creates the result of a scenario.
    public init(
      scenario: String, summary: String, client: String, passed: Bool, text: String, length: Duration,
      timeline: [String]
    ) {
      (self.scenario, self.summary, self.client, self.passed) = (scenario, summary, client, passed)
      (self.text, self.length) = (text, length)
      self.timeline = passed ? [] : timeline
    }

    init() {}

    /// The result as a line of text.
    public var line: String { "\(passed ? "✓" : "✗") \(scenario)  \(text)" }
  }

  /// The program and its version.
  public var program = ""
  /// Descriptions of the remaining settings: the app, the seed and the faults.
  public var options: [String] = []
  /// The scenarios of the whole run, in order.
  public var planned: [String] = []
  /// The shards that the report contains.
  public var shards = ShardSet.whole
  /// What stopped the run before all its scenarios had been played, or nil if nothing did.
  public var stoppedBy: String?
  /// Whether the report passes even if it contains no scenarios.
  public var allowsEmpty = false
  /// The scenarios that were played, in the planned order.
  public private(set) var runs: [Run] = []

  init() {}

  /// Creates an empty report.
  public init(_ planned: [String], options: [String], shard: Shard = .whole, program: String) {
    (self.planned, self.options, self.program) = (planned, options, program)
    shards = ShardSet(shard)
  }

  /// The verdict, which is a pass if every scenario was played and passed.
  public var verdict: Verdict {
    Verdict(
      wrong: failed.isEmpty ? [] : [sentence], stoppedBy: stoppedBy, gap: gap,
      nothing: runs.isEmpty && !allowsEmpty ? count : nil)
  }

  /// The reason why a shard is incomplete, or nil if it is complete.
  public var unfinished: String? {
    let share = shards.share(of: planned.count)
    if runs.count == share, stoppedBy == nil { return nil }
    let how = stoppedBy.map { "; stopped by \($0)" } ?? ""
    return "\(runs.count) of \(share.counted("scenario")) were played\(how)"
  }

  private var failed: [String] { runs.filter { !$0.passed }.map(\.scenario) }

  /// Adds the result of a scenario.
  public mutating func add(_ run: Run) { runs.append(run) }

  /// Merges other shards of the same run into this report.
  public mutating func add(_ other: ScenarioReport) throws(ReportSumError) {
    if program != other.program { throw .otherRun("program \(program), and \(other.program)") }
    if options != other.options {
      let words = [options, other.options].map { $0.isEmpty ? "no options" : $0.joined(separator: " ") }
      throw .otherRun("\(words[0]), and \(words[1])")
    }
    if planned != other.planned { throw .otherRun("other scenarios") }
    try shards.add(other.shards)
    allowsEmpty = allowsEmpty && other.allowsEmpty
    let places = Dictionary(planned.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { one, _ in one })
    runs = (runs + other.runs).sorted { places[$0.scenario, default: 0] < places[$1.scenario, default: 0] }
  }

  private var count: String {
    let all = runs.count.counted("scenario")
    if runs.isEmpty, unfinished == nil { return "no scenario is in \(shards.text.isEmpty ? "the run" : shards.text)" }
    let part = (shards.text.isEmpty ? "" : " (\(shards.text))") + (stoppedBy.map { "; stopped by \($0)" } ?? "")
    return (failed.isEmpty ? "\(all) passed" : "\(failed.count) of \(all) failed") + part
  }

  /// The last line of the report, which gives the number and the names of the failed scenarios.
  public var sentence: String {
    failed.isEmpty ? count : "\(count): \(failed.joined(separator: ", "))"
  }

  /// The report as text: a line for each scenario, followed by ``sentence``.
  public var text: String { (runs.map(\.line) + [sentence]).joined(separator: "\n") }

  /// One test case for each scenario, and one for all scenarios that were not played.
  public var suite: ReportSuite {
    let cases = runs.map { run in
      ReportCase(
        "scenario.\(run.client)", run.scenario, time: run.length,
        run.passed ? .passed : .failed(run.text, details: run.timeline.joined(separator: "\n")), note: run.text,
        traced: run.scenario)
    }
    return ReportSuite(
      "easim scenarios", time: time,
      cases
        + completeness(
          "scenario", all: "every scenario was played", some: "scenarios", nothing: runs.isEmpty ? count : nil))
  }

  private var time: Duration { runs.reduce(.zero) { $0 + $1.length } }

  /// The title of a page that shows the run.
  public var title: String { (["easim scenarios"] + options).joined(separator: " ") }

  /// The outcome of the run, as a sentence.
  public var headline: String { sentence }

  /// How many scenarios were played, how many passed and failed, and how long they took in virtual time.
  public var figures: [ReportFigure] {
    [
      ReportFigure("played", runs.count), ReportFigure("passed", runs.count - failed.count, moreIsBetter: true),
      ReportFigure("failed", failed.count, moreIsBetter: false),
      ReportFigure("in their own time", Double(time.wholeNanoseconds), .time),
    ]
  }

  /// The sections of a page, which describe the scenarios.
  public var sections: [PageSection] {
    [PageSection("The scenarios", PageTable.facts(runs.map { ($0.scenario, $0.summary) }))]
  }
}

// MARK: - As a file

extension ScenarioReport: Report {
  /// The word that identifies the format in report files.
  public static let kind = "scenario report"
  /// The limits for report files. The timeline of a failed scenario may have several hundred lines.
  public static let limits = JSON5.Limits(bytes: 16 << 20, depth: 16)
  /// The keys in report files.
  public static let format = Record(kind, "the results of scenarios", ScenarioReport()) {
    headerFields
    verdictFields
    Field("program", \.program, .text, "the program and its version", isRequired: true)
    Field("options", \.options, .list(of: .text, count: 0...10_000), "further options")
    Field("shards", \.shards, .shards, "the shards in the report; absent for a whole run")
    Field("ending", \.stoppedBy, .ending, "`complete`, or `stopped by` and a signal")
    Field("allowEmpty", \.allowsEmpty, .boolean, "whether the run passes even if no scenario was played")
    Field(
      "scenarios", \.runs, .list(of: .object(Run.format), count: 0...10_000), "the scenarios played",
      isRequired: true)
    Field(
      "planned", \.planned, .list(of: .text, count: 0...10_000), "the scenarios of the whole run",
      standard: Standard("those that were played") { $0.runs.map(\.scenario) })
  }.checked { report, object in
    let names = Set(report.planned)
    if names.count != report.planned.count || Set(report.runs.map(\.scenario)).count != report.runs.count
      || !report.runs.allSatisfy({ names.contains($0.scenario) })
    {
      object.error("scenarios", "a scenario appears twice, or was not planned")
    }
    let share = report.shards.share(of: report.planned.count)
    if report.runs.count > share || report.stoppedBy == nil && report.runs.count < share {
      object.error(
        "scenarios",
        "has \(report.runs.count.counted("scenario")), but a complete run of the planned scenarios has \(share)")
    }
  }
}

extension ScenarioReport.Run {
  fileprivate static let format = Record("scenario", "a scenario run", Self()) {
    Field("scenario", \.scenario, .text, "its name", isRequired: true)
    Field("client", \.client, .text, "the app", isRequired: true)
    Field("passed", \.passed, .boolean, "whether everything happened as expected", isRequired: true)
    Field("text", \.text, .text, "what the app did", isRequired: true)
    Field("summary", \.summary, .text, "the scenario's description", isRequired: true)
    Field("nanoseconds", \.length, .nanoseconds, "how long it took, in the scenario's own time", isRequired: true)
    Field("timeline", \.timeline, .list(of: .text), "the timeline, if the scenario failed")
  }.checked { run, object in
    if run.passed, !run.timeline.isEmpty { object.error("timeline", "only a failed scenario has a timeline") }
  }
}
