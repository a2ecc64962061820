import AccessoryLoad
import Glibc

/// A file that a report is written to, in the form that its name asks for.
///
/// It is opened before the run, so that an hour of measuring does not end with a folder that does not exist; what was
/// in it stays until there is something to write.
final class ReportFile {
  private enum Form: String, CaseIterable {
    case json
    case html
    case xml
    case hgrm
  }

  private let form: Form
  private let descriptor: Int32
  private let name: String

  init(_ path: String) throws {
    let ending = path.split(separator: ".", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    guard let form = Form(rawValue: ending), path.contains(".") else {
      throw UsageError("--report \(path): expected a name that ends in .json, .html, .xml or .hgrm")
    }
    self.form = form
    name = "--report \(path)"
    descriptor = try PatientFile.open(path, O_WRONLY | O_CREAT, named: name)
  }

  deinit { close(descriptor) }

  func write(_ report: BurstReport, _ comparison: BaselineComparison?, _ console: Console) {
    let text =
      switch form {
      case .json: report.json.text + "\n"
      case .html: report.html(comparison)
      case .xml: report.junit(comparison)
      // In microseconds, as those who plot these files expect.
      case .hgrm: report.latency.percentileText(unit: 1_000)
      }
    let reason = PatientFile.write { [descriptor] in
      ftruncate(descriptor, 0)
      return Outlet.write(Array(text.utf8), to: descriptor)
    }
    if let reason { console.lose(name, reason) }
  }
}
