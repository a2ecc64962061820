import AccessoryCheck
import AccessoryCore
import AccessoryLoad
import AccessorySoak
import AccessoryTransports
import AccessoryWorlds

/// The forms of one command's reports, named by the endings of their files.
protocol ReportForm: CaseIterable, RawRepresentable, Sendable where RawValue == String {}

/// A file that a report is written to, in the form that its name asks for.
///
/// Whether it can be written is examined before the run, so that an hour of measuring does not end with a folder that does
/// not exist. It is then written whole or not at all.
struct ReportFile<Form: ReportForm> {
  private let form: Form
  private let file: WholeFile
  private let name: String

  /// The file of an option; `form` is for an option that has only one.
  init(_ option: String, _ path: String, form: Form? = nil) throws {
    let ending = path.split(separator: ".", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    guard let form = form ?? (path.contains(".") ? Form(rawValue: ending) : nil) else {
      let endings = Form.allCases.map { ".\($0.rawValue)" }
      let others = endings.dropLast().joined(separator: ", ")
      throw UsageError(
        "\(option) \(path): expected a name that ends in \(others.isEmpty ? "" : "\(others) or ")\(endings.last ?? "")")
    }
    self.form = form
    name = "\(option) \(path)"
    file = try PatientFile.whole(path, named: name)
  }

  private func write(_ text: String, _ console: Console) {
    if let reason = PatientFile.write(Array(text.utf8), to: file) { console.lose(name, reason) }
  }
}

/// The forms of a load test's report.
enum BurstReportForm: String, ReportForm { case json, html, xml, csv, hgrm, om, prom }

extension ReportFile<BurstReportForm> {
  func write(_ report: BurstReport, _ comparison: BaselineComparison?, _ console: Console) {
    let text =
      switch form {
      case .json: report.json(comparison).text + "\n"
      case .html: report.html(comparison)
      case .xml: report.junit(comparison)
      case .csv: report.csv(comparison)
      // In microseconds, as tools that plot these files expect; they pass over lines that begin with #.
      case .hgrm: report.latency.percentileText(unit: 1_000) + (comparison?.commentLines ?? "")
      case .om: report.metrics(comparison, isOpen: true)
      case .prom: report.metrics(comparison, isOpen: false)
      }
    write(text, console)
  }
}

/// The forms of several load tests beside each other.
enum TrendForm: String, ReportForm { case json, html, csv }

extension ReportFile<TrendForm> {
  func write(_ trend: RunTrend, _ console: Console) {
    let text =
      switch form {
      case .json: trend.json.text + "\n"
      case .html: trend.html
      case .csv: trend.csv
      }
    write(text, console)
  }
}

/// The form of results that only CI servers read.
enum JUnitForm: String, ReportForm { case xml }

extension ReportFile<JUnitForm> {
  func write(_ suite: JUnitSuite, _ console: Console) { write(suite.xml, console) }
}

/// The forms of results: of a check, of scenarios, of a replay.
enum ResultForm: String, ReportForm { case json, html, xml }

extension ReportFile<ResultForm> {
  func write(_ report: CheckReport, _ comparison: CheckComparison?, _ console: Console) {
    let text =
      switch form {
      case .json: report.json.text + "\n"
      case .html: report.html(comparison)
      case .xml: report.junit
      }
    write(text, console)
  }

  func write(_ report: ScenarioReport, _ console: Console) {
    let text =
      switch form {
      case .json: report.json.text + "\n"
      case .html: report.html
      case .xml: report.junit.xml
      }
    write(text, console)
  }

  func write(_ report: ReplayReport, _ console: Console) {
    let text =
      switch form {
      case .json: report.json
      case .html: report.html
      case .xml: report.junit.xml
      }
    write(text, console)
  }
}

/// The forms of the results of random worlds.
enum SoakReportForm: String, ReportForm { case json, xml }

extension ReportFile<SoakReportForm> {
  /// `time` is how long it took on the clock, which only JUnit has.
  func write(_ report: SoakRunReport, time: Duration, _ console: Console) {
    let text =
      switch form {
      case .json: report.json.text + "\n"
      case .xml: report.suite(time: time).xml
      }
    write(text, console)
  }
}
