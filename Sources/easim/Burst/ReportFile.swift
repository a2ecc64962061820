import AccessoryLoad
import AccessoryTransports

/// A file that a report is written to, in the form that its name asks for.
///
/// Whether it can be written is examined before the run, so that an hour of measuring does not end with a folder that does
/// not exist. It is then written whole or not at all.
final class ReportFile {
  private enum Form: String, CaseIterable {
    case json
    case html
    case xml
    case hgrm
  }

  private let form: Form
  private let file: WholeFile
  private let name: String

  init(_ path: String) throws {
    let ending = path.split(separator: ".", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    guard let form = Form(rawValue: ending), path.contains(".") else {
      throw UsageError("--report \(path): expected a name that ends in .json, .html, .xml or .hgrm")
    }
    self.form = form
    name = "--report \(path)"
    file = try PatientFile.whole(path, named: name)
  }

  func write(_ report: BurstReport, _ comparison: BaselineComparison?, _ console: Console) {
    let text =
      switch form {
      case .json: report.json.text + "\n"
      case .html: report.html(comparison)
      case .xml: report.junit(comparison)
      // In microseconds, as tools that plot these files expect.
      case .hgrm: report.latency.percentileText(unit: 1_000)
      }
    if let reason = PatientFile.write(Array(text.utf8), to: file) { console.lose(name, reason) }
  }
}
