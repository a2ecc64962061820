import AccessoryLoad

extension CommandSpec {
  /// `easim report`.
  static let report = CommandSpec(
    name: "report", summary: "merge the reports of several load tests, or show one",
    arguments: "merge|show FILE…", argumentCount: 2...1_000,
    details: """
      Read reports that 'easim burst --report FILE.json' wrote. merge combines several, for example of machines that ran at
      the same time: counts and histograms add exactly, so the percentiles are those of one run with all the bursts. show
      prints one. Both write other formats with --report. The exit code is 1 when a run in it failed, or when the result is
      worse than the baseline.
      """,
    options: [
      OptionSpec(
        name: "--report", value: "FILE",
        summary: "write the report: .json, .html, .xml (JUnit), .hgrm (percentiles, µs)",
        isRepeatable: true),
      OptionSpec(name: "--baseline", value: "FILE", summary: "fail when the result is worse than in this JSON report"),
      OptionSpec(
        name: "--tolerance", value: "PERCENT", summary: "how much worse than the baseline is accepted (default 10%)"),
      OptionSpec(name: "--json", summary: "print the report in JSON"),
    ],
    examples: [
      "easim report show /tmp/burst.json",
      "easim report merge /tmp/burst.json /tmp/burst.json --report /tmp/both.html",
    ],
    run: runReport)
}

private func runReport(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  let paths = arguments.words.dropFirst()
  switch arguments.words[0] {
  case "merge": break
  case "show" where paths.count == 1: break
  case "show": throw UsageError("show takes one report; use merge for several", arguments.command)
  case let word: throw UsageError("'\(word)': expected merge or show", arguments.command)
  }
  let reports = try paths.map { try BurstReport(json: InputFile.read($0, arguments.command), file: $0) }
  guard var sum = reports.first else { throw UsageError("FILE… is missing", arguments.command) }
  for report in reports.dropFirst() {
    if report.plan != sum.plan {
      let plan = report.plan
      console.err(
        "easim: warning: the reports have different plans: \(plan.size) bytes, \(plan.pace), \(plan.verification)")
    }
    sum.merge(report)
  }
  let baseline = try BaselineOptions(arguments)
  let files = try arguments.all("--report").map { try ReportFile($0, arguments.command) }
  let comparison = baseline.comparison(of: sum)
  for file in files { file.write(sum, comparison, console) }
  console.out(arguments.has("--json") ? sum.json.text : sum.text)
  if let comparison, !arguments.has("--json") { console.out(comparison.text) }
  return sum.passed && comparison?.passed ?? true ? .done : .checkFailed
}

/// What a command line says about a baseline.
struct BaselineOptions {
  private let baseline: BurstReport?
  private let tolerance: Double

  init(_ arguments: ParsedArguments) throws {
    if !arguments.has("--baseline"), arguments.has("--tolerance") {
      throw UsageError("--tolerance needs --baseline", arguments.command)
    }
    let text = arguments.value("--tolerance") ?? "10%"
    let digits = text.hasSuffix("%") ? text.dropLast() : text[...]
    let isNumber = !digits.isEmpty && digits.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard isNumber, let percent = Double(digits), percent <= 100_000 else {
      throw UsageError("--tolerance \(text): expected a percentage, such as 10%", arguments.command)
    }
    tolerance = percent / 100
    baseline = try arguments.value("--baseline").map {
      try BurstReport(json: InputFile.read($0, option: "--baseline", arguments.command), file: $0)
    }
  }

  func comparison(of report: BurstReport) -> BaselineComparison? {
    baseline.map { BaselineComparison(of: report, with: $0, tolerance: tolerance) }
  }
}
