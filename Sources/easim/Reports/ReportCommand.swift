import AccessoryCheck
import AccessoryCore
import AccessoryLoad
import AccessorySoak
import AccessoryWorlds

extension CommandSpec {
  /// `easim report`.
  static let report = CommandSpec(
    name: "report", summary: "show or merge reports; compare those of load tests",
    details: """
      Read reports that --report FILE.json of 'easim burst', 'easim soak', 'easim scenario run --all' and 'easim check'
      wrote. FILE may be a folder: all .json files in it.

      merge adds up several, such as the shards of a run on several machines. Of worlds and scenarios the sum is the
      report of the undivided run, byte for byte. Of load tests, counts and histograms add exactly, so the percentiles are
      those of one run with all the bursts. A shard that is missing, or that was stopped, is named, and the exit code is 1.

      show prints one. compare prints several of load tests beside each other, in their order: what changed from the first
      to the last, and with --report FILE.html a chart of each figure over all of them. Its --fail-if is about the change,
      and the exit code is 1 when one is broken: 'p50>+10%', 'throughput<-5%'. merge and show write other formats
      with --report.

      The exit code of merge and show is 1 when a run did not pass, when a limit of --fail-if is broken, or when the result
      is worse than the baseline, which must have the same plan. A file whose figures contradict each other is refused.
      """,
    examples: [
      "easim report show /tmp/burst.json",
      "easim report compare /tmp/burst.json /tmp/burst.json --fail-if 'p50>+10%' --report /tmp/trend.html",
      "easim report merge /tmp/burst.json /tmp/burst.json --report /tmp/both.html",
    ],
    run: runReport)
}

private struct ReportOptions: ReportingOptions {
  enum Verb: String, CaseIterable { case compare, merge, show }

  var verb = Verb.show
  var paths: [String] = []
  var reports = ReportTargets()
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(\.verb, .choice), Operand(each: "FILE…", 1...1_000_000, \.paths, .text),
  ]
  static let options: [Option<Self>] = [
    .report.described(
      "write it as .json, .html or .xml (JUnit); load tests also as .csv, .hgrm, .om or .prom"),
    Option(
      "--fail-if", \.reports, as: "LIMIT",
      "fail when it holds: 'p99>50ms', 'rate<100/s', 'errors>0.1%'; compare: 'p50>+10%'", isRepeatable: true
    ) { reports, word in
      // Which of the two is wanted is known when the whole command line is.
      do { reports.limits.append(try BurstLimit(word)) } catch {
        guard let change = try? ChangeLimit(word) else { throw UsageError("--fail-if \(error)") }
        reports.changes.append(change)
      }
    },
    .baseline, .tolerance, .allowEmpty, .json.described("print the report in JSON"),
  ]
  static let rules: [OptionRule] = [.needs("--tolerance", "--baseline")]
}

private func runReport(_ options: ReportOptions, _ console: Console) throws -> ExitCode {
  var options = options
  options.paths = try ReportInput.paths(options.paths)
  if options.verb == .show, options.paths.count > 1 {
    throw UsageError("show takes one report; use merge for several")
  }
  if options.verb != .compare, let change = options.reports.changes.first {
    throw UsageError("--fail-if: '\(change.goal)' is about a change, and only compare has one")
  }
  guard let path = options.paths.first else { throw UsageError("FILE… is missing") }
  if options.verb == .compare { return try compare(options, console) }
  let first = try ReportInput(path)
  switch first.kind {
  case SoakRunReport.kind:
    return try add(SoakRunReport.self, first, options, console, text: \.text) { (file: ReportFile<SoakReportForm>) in
      { file.write($0, time: .zero, console) }
    }
  case CheckReport.kind:
    return try add(CheckReport.self, first, options, console, text: \.wholeText) {
      (file: ReportFile<ResultForm>) in
      { file.write($0, nil, console) }
    }
  case ScenarioReport.kind:
    return try add(ScenarioReport.self, first, options, console, text: \.text) {
      (file: ReportFile<ResultForm>) in
      { file.write($0, console) }
    }
  default: return try addBursts(first, options, console)
  }
}

/// Shows or adds up the reports of shards.
private func add<Report: ShardedReport, Form: ReportForm>(
  _ type: Report.Type, _ first: ReportInput, _ options: ReportOptions, _ console: Console, text: (Report) -> String,
  writing: (ReportFile<Form>) -> (Report) -> Void
) throws -> ExitCode {
  if options.reports.baseline != nil || !options.reports.limits.isEmpty {
    throw UsageError("\(first.path) is a \(Report.kind): --baseline and --fail-if are for load tests")
  }
  let files = try options.reports.paths.map { try ReportFile<Form>("--report", $0) }
  var sum = try ReportSum<Report>(first, options.paths.dropFirst())
  if options.shared.allowsEmpty { sum.report.allowsEmpty = true }
  for file in files { writing(file)(sum.report) }
  console.out(console.isJSON ? sum.report.json.text : text(sum.report))
  let isWhole = options.verb == .show || sum.tellMissing(console)
  return sum.report.verdict.isPassed && isWhole ? .done : .checkFailed
}

private func addBursts(_ first: ReportInput, _ options: ReportOptions, _ console: Console) throws -> ExitCode {
  // One after the other, so that a thousand reports take the memory of one and of the sum.
  var sum = try first.burst()
  for path in options.paths.dropFirst() {
    let report = try report(at: path)
    let differences = report.plan.differences(from: sum.plan)
    if !differences.isEmpty {
      console.err(
        "easim: warning: the reports have different plans: \(path) has \(differences.joined(separator: "; "))")
    }
    do { try sum.merge(report) } catch { throw UsageError("\(path): with this report, \(error)") }
  }
  sum.require(options.reports.limits)
  if options.shared.allowsEmpty { sum.allowsEmpty = true }
  let baseline = try Baseline(options.reports)
  try baseline.check(sum.plan)
  let files = try options.reports.paths.map { try ReportFile<BurstReportForm>("--report", $0) }
  let comparison = baseline.comparison(of: sum)
  for file in files { file.write(sum, comparison, console) }
  console.out(console.isJSON ? sum.json(comparison).text : sum.text(comparison))
  let missing = options.verb == .merge ? sum.shards.missingText : nil
  if let missing { console.err("easim: \(missing)") }
  return sum.passed && comparison?.passed ?? true && missing == nil ? .done : .checkFailed
}

/// `easim report compare`.
private func compare(_ options: ReportOptions, _ console: Console) throws -> ExitCode {
  if options.reports.baseline != nil {
    throw UsageError("compare takes no --baseline: the first report is what the last is compared with")
  }
  if let limit = options.reports.limits.first {
    throw UsageError("--fail-if '\(limit)': compare takes limits on the change, such as 'p50>+10%' or 'throughput<-5%'")
  }
  let files = try options.reports.paths.map { try ReportFile<TrendForm>("--report", $0) }
  let trend = RunTrend(
    try options.paths.map { (name: fileName($0), report: try report(at: $0)) },
    limits: options.reports.changes)
  for file in files { file.write(trend, console) }
  console.out(console.isJSON ? trend.json.text : trend.text)
  return trend.checks.allSatisfy(\.passed) ? .done : .checkFailed
}

private func fileName(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

private func report(at path: String, option: String? = nil) throws -> BurstReport {
  try BurstReport(json: InputFile.read(path, option: option), file: path)
}

/// Where the report of a load test goes, and what it is compared with.
struct ReportTargets: Sendable {
  /// `--report`.
  var paths: [String] = []
  /// `--baseline`.
  var baseline: String?
  /// `--tolerance`: 0.1 for 10%.
  var tolerance = 0.1
  /// `--fail-if`.
  var limits: [BurstLimit] = []
  /// `--fail-if` of `easim report compare`.
  var changes: [ChangeLimit] = []
}

/// The options of commands that write reports.
protocol ReportingOptions: CommandOptions {
  var reports: ReportTargets { get set }
}

extension Option where Root: ReportingOptions {
  static var report: Option {
    Option(
      each: "--report", \.reports.paths, .text, as: "FILE",
      "write the report: .json, .html, .xml (JUnit), .csv, .hgrm, .om or .prom (metrics)")
  }

  static var failIf: Option {
    Option(
      "--fail-if", \.reports.limits, as: "LIMIT", "fail when it holds: 'p99>50ms', 'rate<100/s', 'errors>0.1%'",
      isRepeatable: true
    ) { limits, word in
      do { limits.append(try BurstLimit(word)) } catch { throw UsageError("--fail-if \(error)") }
    }
  }

  static var baseline: Option {
    Option(
      "--baseline", \.reports.baseline, .optional(.text), as: "FILE",
      "fail when the result is worse than in this JSON report")
  }

  /// Only together with ``baseline``.
  static var tolerance: Option {
    let percentage = Format<Double>.parsed(TextShape("percentage"), expected: "a percentage, such as 10%") { text in
      let digits = text.hasSuffix("%") ? text.dropLast() : text[...]
      let isNumber = !digits.isEmpty && digits.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
      return isNumber ? Double(digits).flatMap { $0 <= 100_000 ? $0 / 100 : nil } : nil
    } text: {
      "\(Int(($0 * 100).rounded()))%"
    }
    return Option(
      "--tolerance", \.reports.tolerance, percentage, as: "PERCENT", "how much worse than the baseline is accepted")
  }
}

/// An earlier result to compare with.
struct Baseline {
  private let report: BurstReport?
  private let tolerance: Double

  init(_ targets: ReportTargets) throws {
    tolerance = targets.tolerance
    report = try targets.baseline.map { try easim.report(at: $0, option: "--baseline") }
  }

  /// Refuses a baseline whose plan is another one.
  func check(_ plan: BurstReport.Plan) throws {
    if let report, let obstacle = BaselineComparison.obstacle(plan, report) {
      throw UsageError("--baseline: \(obstacle)")
    }
  }

  func comparison(of report: BurstReport) -> BaselineComparison? {
    self.report.map { BaselineComparison(of: report, with: $0, tolerance: tolerance) }
  }
}
