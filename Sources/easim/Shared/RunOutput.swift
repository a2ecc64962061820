import AccessoryCheck
import AccessoryCore
import AccessoryFormats
import AccessoryRuns
import Glibc
import LinuxIO

/// What all commands with a report share: the shard, the baseline for a comparison, and the report files.
///
/// The shard, the baseline and the report files are checked before the run.
struct RunOutput<Result: Report> {
  /// The placeholder for the firmware version in the path of a ``CheckReport`` baseline.
  fileprivate static var firmware: String { "{firmware}" }

  let shard: Shard
  fileprivate var earlier: Result?
  fileprivate let baseline: String?
  private let tolerance: Double
  private let files: [ReportFile]
  fileprivate let console: Console

  /// - Parameter count: the number of items to divide among shards. If the count is 1, the shard given by the
  ///   environment is ignored.
  init(_ shared: SharedOptions, dividing count: Int = 1, _ console: Console) throws {
    self.console = console
    tolerance = shared.tolerated
    baseline = shared.baseline
    earlier = try shared.baseline.flatMap { Result.self == CheckReport.self && $0.contains(Self.firmware) ? nil : $0 }
      .map { try Result(json: InputFile.read($0, option: "--baseline"), file: $0) }
    files = try shared.reports.map { try ReportFile($0, Result.forms) }
    shard = try Self.shard(shared, count, console)
    if !shard.isWhole, shared.baseline != nil {
      throw UsageError(
        "--baseline compares a whole run, but this is shard \(shard): omit --baseline, or add --shard 1/1")
    }
  }

  private static func shard(_ shared: SharedOptions, _ count: Int, _ console: Console) throws -> Shard {
    if let shard = shared.shard { return shard }
    if count == 1 { return .whole }
    do {
      let variables = try ShardVariables { name in getenv(name).map { String(cString: $0) } }
      if let note = variables.note { console.err("easim: \(note)") }
      return variables.shard ?? .whole
    } catch { throw UsageError("\(error)") }
  }

  func check(_ report: Result) throws {
    let differences = earlier.map { report.differences(from: $0) } ?? []
    if !differences.isEmpty {
      throw UsageError(
        "--baseline: the baseline has a different plan: this run has \(differences.joined(separator: "; "))")
    }
  }

  @discardableResult func compare(_ report: inout Result) -> Bool {
    earlier.map { report.compare(with: $0, tolerance: tolerance) } ?? true
  }

  func write(_ report: Result) {
    console.trace?.conclude(report)
    files.write(report, console)
  }

  /// Prints the result of the run: a JSON line with the whole report, or `text`.
  func show(_ report: Result, _ verdict: Verdict, _ summary: String, text: String, at time: Instant) {
    guard console.isJSON else { return console.outJudged(text) }
    console.out(
      event: "result", at: time, side: .app,
      ["passed": verdict.isPassed, "verdict": verdict.word, "text": summary, "report": report.json])
  }
}

extension RunOutput<CheckReport> {
  /// Reads the baseline for the accessory's firmware. The firmware version is known only after the run. If there is no
  /// baseline for the firmware version, prints a message and compares nothing.
  mutating func readBaseline(for report: CheckReport) throws {
    guard let baseline, baseline.contains(Self.firmware) else { return }
    guard let version = report.accessory?.firmware else {
      return console.err("easim: --baseline: the accessory did not send its firmware version, so nothing is compared")
    }
    let path = baseline.replacing(Self.firmware, with: version.replacing("/", with: "_").spelledOut)
    guard access(path, F_OK) == 0 else {
      return console.err(
        "easim: --baseline: firmware \(version.printable) has no report at \(path): nothing is compared")
    }
    earlier = try CheckReport(json: InputFile.read(path, option: "--baseline"), file: path)
  }
}

/// A file to write a report to. The file's extension selects the format.
///
/// The path is checked before the run, so that a missing folder does not waste an hour of measuring. The file is
/// written completely or not at all.
struct ReportFile {
  private let form: ReportForm
  private let path: String
  private let file: WholeFile
  private let name: String

  init(_ path: String, _ forms: [ReportForm]) throws {
    let ending = path.split(separator: ".", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    guard path.contains("."), let form = forms.first(where: { $0.rawValue == ending }) else {
      let endings = forms.map { ".\($0.rawValue)" }
      let others = endings.dropLast().joined(separator: ", ")
      throw UsageError(
        "--report \(path): expected a name that ends in \(others.isEmpty ? "" : "\(others) or ")\(endings.last ?? "")")
    }
    (self.form, self.path) = (form, path)
    name = "--report \(path)"
    file = try PatientFile.whole(path, named: name)
  }

  fileprivate func write(_ report: some WritableReport, _ console: Console) {
    var text: String?
    if form == .html, let trace = console.trace, trace.isWanted, let report = report as? any Report {
      text = report.html(traced: trace.address(from: path))
    }
    if let reason = PatientFile.write(Array((text ?? report.text(as: form)).utf8), to: file) {
      console.lose(name, reason)
    }
  }
}

extension [ReportFile] {
  func write(_ report: some WritableReport, _ console: Console) {
    for file in self { file.write(report, console) }
  }
}
