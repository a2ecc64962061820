import AccessoryCheck
import AccessoryCore
import AccessoryTransports

extension CommandSpec {
  /// `easim check`.
  static let check = CommandSpec(
    name: "check", summary: "check an accessory against the rules of iAP2 and print what to change",
    details: """
      Plug the accessory at ADDR in as an Apple device would (default: the only one on the bench), again and again, and run
      numbered cases: detection, SYN, packets, loss, authentication, identification, sessions, data, unplugging. A case
      holds, is a finding with the packets that prove it and what to change in the firmware, or is skipped with the reason.
      docs/check.md lists all cases and where each rule is known from.

      Without --hostile nothing is done that a phone would not do. Cases about data need an accessory that sends back what it
      receives.

      Exit codes: 0 all held, 1 findings, 2 usage error, 3 no accessory found, 5 the accessory did not come back.
      Ctrl-C ends the run and prints what was judged.
      """,
    examples: [
      "easim check --list", "easim check unix:/tmp/echo-1.sock --only 201-211 --report /tmp/check.html",
      "easim check unix:/tmp/echo-1.sock --only certificate,signature --report /tmp/check.json",
    ],
    run: runCheck)
}

private func runCheck(_ options: CheckOptions, _ console: Console) throws -> ExitCode {
  var selection = CheckSelection.all
  if let text = options.selection {
    do throws(CheckSelection.Mistake) { selection = try CheckSelection(text) } catch {
      throw UsageError("--only: \(error)")
    }
  }
  let cases = selection.cases
  if options.lists {
    for rule in cases { console.out(console.isJSON ? rule.json.text : rule.line) }
    return .done
  }
  let baseline = try options.baseline.map {
    try CheckBaseline(json: InputFile.read($0, option: "--baseline"), file: $0)
  }
  var files = try options.reports.map { try CheckReportFile("--report", $0) }
  if let junit = options.junit { files.append(try CheckReportFile("--junit", junit, form: .xml)) }
  return try CheckSession(options, cases, files, baseline, console).run()
}

/// A file that a report is written to, whole or not at all. Whether it can be written is examined before the run.
struct CheckReportFile {
  enum Form: String, CaseIterable { case json, html, xml }

  private let form: Form
  private let file: WholeFile
  private let name: String

  init(_ option: String, _ path: String, form: Form? = nil) throws {
    let ending = path.split(separator: ".", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    guard let form = form ?? (path.contains(".") ? Form(rawValue: ending) : nil) else {
      throw UsageError("\(option) \(path): expected a name that ends in .json, .html or .xml")
    }
    self.form = form
    name = "\(option) \(path)"
    file = try PatientFile.whole(path, named: name)
  }

  func write(_ report: CheckReport, _ comparison: CheckComparison?, _ console: Console) {
    let text =
      switch form {
      case .json: report.json.text + "\n"
      case .html: report.html(comparison)
      case .xml: report.junit
      }
    if let reason = PatientFile.write(Array(text.utf8), to: file) { console.lose(name, reason) }
  }
}
