import AccessoryCore
import AccessoryFormats
import AccessoryLoad
import AccessoryRuns
import Glibc

extension CommandSpec {
  static let report = CommandSpec(
    name: "report", summary: "show, merge or compare reports",
    details: """
      Read the reports that these commands write with --report FILE.json: \(writers).
      FILE may be a folder: easim then reads all .json files in it.

      merge combines several reports, such as those of the shards of a run. Merged reports of worlds and scenarios are byte
      for byte the report of the undivided run. For load tests, counts and histograms add up exactly, so the percentiles are
      those of a single run with all the bursts. If a shard is missing or was stopped, merge names it and exits with 1.

      show prints one report. compare prints several reports of one kind side by side, in order: what changed from the first
      to the last, and with --report FILE.html a chart of each figure. With compare, --fail-if conditions apply to the
      change, such as 'p50>+10%', 'throughput<-5%' or 'failed>+0%'; if one holds, the exit code is 1. merge and show write
      other formats with --report.

      merge and show exit with 1 if a run did not pass, if a --fail-if condition holds, or if the result is worse than the
      baseline, which must have the same plan. easim refuses a file whose figures contradict each other.
      """,
    examples: [
      "easim report show /tmp/burst.json",
      "easim report compare /tmp/burst.json /tmp/burst.json --fail-if 'p50>+10%' --report /tmp/trend.html",
      "easim report merge /tmp/burst.json /tmp/burst.json --report /tmp/both.html",
    ],
    run: runReport)
}

private struct ReportOptions: CommandOptions {
  enum Verb: String, CaseIterable { case compare, merge, show }

  var verb = Verb.show
  var paths: [String] = []
  /// The conditions given by `--fail-if`: those that apply to a single run, and those that apply to the change between
  /// runs.
  var limits: (run: [BurstLimit], change: [ChangeLimit]) = ([], [])
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(\.verb, .choice), Operand(each: "FILE…", 1...1_000_000, \.paths, .text),
  ]
  static let options: [Option<Self>] = [
    .report.described("write the result as .json, .html or .xml (JUnit); load tests also as .csv, .hgrm, .om or .prom"),
    Option(
      "--fail-if", \.limits, as: "LIMIT",
      "fail if the condition holds: 'p99>50ms', 'rate<100/s', 'errors>0.1%'; compare: 'p50>+10%'", isRepeatable: true
    ) { limits, word in
      // A condition that does not apply to a single run may apply to the change between runs.
      do { limits.run.append(try BurstLimit(word)) } catch {
        guard let change = try? ChangeLimit(word) else { throw UsageError("--fail-if \(error)") }
        limits.change.append(change)
      }
    },
    .baseline, .tolerance, .allowEmpty, .json.described("print the report in JSON"),
  ]
  static let rules: [OptionRule] = [.needs("--tolerance", "--baseline")]
}

private var writers: String { CommandSpec.all.filter { $0.report != nil }.map(\.name).joined(separator: ", ") }

private func runReport(_ options: ReportOptions, _ console: Console) throws -> ExitCode {
  var options = options
  options.paths = try ReportInput.paths(options.paths)
  if options.verb == .show, options.paths.count > 1 {
    throw UsageError("show takes one report; to show several, use merge")
  }
  if options.verb != .compare, let change = options.limits.change.first {
    throw UsageError("--fail-if: '\(change.goal)' is a condition on a change, which only compare can check")
  }
  guard let path = options.paths.first else { throw UsageError("FILE… is missing") }
  let first = try ReportInput(path)
  let kind = first.kind
  let type = CommandSpec.all.lazy.compactMap(\.report).first { $0.kind == kind } ?? BurstReport.self
  return options.verb == .compare ? try compare(type, first, options, console) : try add(type, first, options, console)
}

private func add<Result: Report>(
  _ type: Result.Type, _ first: ReportInput, _ options: ReportOptions, _ console: Console
) throws -> ExitCode {
  let output = try RunOutput<Result>(options.shared, console)
  var sum = try ReportSum<Result>(first, options.paths.dropFirst(), console)
  if !options.limits.run.isEmpty {
    guard var limited = sum.report as? any LimitedReport else {
      throw UsageError("\(first.path) is a \(Result.kind): --fail-if is for load tests and attach reports")
    }
    for limit in options.limits.run where !limited.mayRequire(limit) {
      throw UsageError("--fail-if '\(limit)': a limit for an \(Result.kind) is on times: 'p95>3s'")
    }
    limited.require(options.limits.run)
    if let judged = limited as? Result { sum.report = judged }
  }
  if options.shared.allowsEmpty { sum.report.allowsEmpty = true }
  try output.check(sum.report)
  if !output.compare(&sum.report) {
    throw UsageError("\(first.path) is a \(Result.kind): --baseline is for load tests and checks")
  }
  output.write(sum.report)
  console.outJudged(console.isJSON ? sum.report.json.text : sum.report.text)
  let isWhole = options.verb == .show || sum.reportMissing(console)
  return sum.report.outcome.isPassed && isWhole ? .done : .checkFailed
}

private func compare<Result: Report>(
  _ type: Result.Type, _ first: ReportInput, _ options: ReportOptions, _ console: Console
) throws -> ExitCode {
  if options.shared.baseline != nil {
    throw UsageError("compare takes no --baseline: it compares the last report with the first")
  }
  if let limit = options.limits.run.first {
    throw UsageError("--fail-if '\(limit)': compare takes limits on the change, such as 'p50>+10%' or 'throughput<-5%'")
  }
  let files = try options.shared.reports.map { try ReportFile($0, ReportTrend.forms) }
  let runs =
    try [(fileName(first.path), first.report(type))]
    + options.paths.dropFirst().map { (fileName($0), try ReportInput($0).report(type)) }
  let trend = ReportTrend(runs.map { (name: $0.0, report: $0.1) }, limits: options.limits.change)
  for limit in options.limits.change {
    do { try limit.check(among: trend.rows.map(\.name)) } catch { throw UsageError("--fail-if \(error)") }
  }
  files.write(trend, console)
  console.outJudged(console.isJSON ? trend.json.text : trend.text)
  return trend.checks.allSatisfy(\.passed) ? .done : .checkFailed
}

private func fileName(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

struct ReportInput {
  let path: String
  private let bytes: [UInt8]

  init(_ path: String) throws {
    self.path = path
    bytes = try InputFile.read(path)
    if let first = bytes.first(where: { !" \t\r\n".utf8.contains($0) }), !"{/".utf8.contains(first) {
      throw UsageError("\(path) is not a JSON report, and easim reads reports in no other form")
    }
  }

  var kind: String? {
    // The kind is at the beginning of a report, so there is no need to read a large file twice.
    let head = bytes.prefix(60)
    let begin = Array(#"{"easim":""#.utf8)
    if head.starts(with: begin) {
      let name = head.dropFirst(begin.count).prefix { $0 != UInt8(ascii: "\"") }
      return String(decoding: name, as: UTF8.self)
    }
    let limits = JSON5.Limits(bytes: 16 << 20, depth: 16)
    return (try? JSON5.read(bytes, file: path, limits: limits)).flatMap { ReportHeader.kind(of: $0) }
  }

  func report<Result: Report>(_ type: Result.Type) throws -> Result { try Result(json: bytes, file: path) }

  /// Returns the files that the user's words refer to. A folder stands for all the .json files in it, sorted by name.
  static func paths(_ words: [String]) throws -> [String] {
    try words.flatMap { word -> [String] in
      guard isFolder(word) else { return [word] }
      guard let all = Folder.names(in: word) else {
        throw UsageError("\(word): \(String(cString: strerror(errno)))")
      }
      let names = all.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }
      if names.isEmpty { throw UsageError("\(word): this folder contains no .json file") }
      return names.map { "\(word.hasSuffix("/") ? word : word + "/")\($0)" }
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}

/// Adds up the reports of shards as they are read, so that memory never holds more than one report and the sum.
struct ReportSum<Result: Report> {
  var report: Result
  /// Messages about incomplete shards, which are left out of the sum.
  private(set) var unfinished: [String] = []

  init(_ first: ReportInput, _ others: some Collection<String>, _ console: Console) throws {
    var sum = try first.report(Result.self)
    var lastUnfinished = sum.unfinished.map { "\(first.path): \($0)" }
    for path in others {
      let next = try ReportInput(path).report(Result.self)
      if let reason = next.unfinished {
        unfinished.append("\(path): \(reason)")
        continue
      }
      if let reason = lastUnfinished {
        // All earlier reports are incomplete, so the sum starts with this one.
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
      if let caution = sum.caution(adding: next) { console.err("easim: warning: \(path) \(caution)") }
      do { try sum.add(next) } catch { throw UsageError("\(path): with this report, \(error)") }
    }
    if let lastUnfinished { unfinished.insert(lastUnfinished, at: 0) }
    report = sum
  }

  func reportMissing(_ console: Console) -> Bool {
    for line in unfinished { console.err("easim: \(line): run it again") }
    if let missing = report.shards.missingText { console.err("easim: \(missing)") }
    return unfinished.isEmpty && report.shards.isComplete
  }
}
