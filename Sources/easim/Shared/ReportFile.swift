import AccessoryCore
import AccessoryRuns
import LinuxIO

/// A file to write a report to. The file's extension selects the format.
///
/// The path is checked before the run, so that a missing folder does not waste an hour of measuring. The file is
/// written completely or not at all.
struct ReportFile {
  private let form: ReportForm
  private let path: String
  private let file: WholeFile
  private let name: String

  /// Creates the file that an option names, for a report in one of the formats in `forms`. `form` is set if the option
  /// allows only one format.
  init(_ option: String, _ path: String, _ forms: [ReportForm], form: ReportForm? = nil) throws {
    let ending = path.split(separator: ".", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    guard let form = form ?? (path.contains(".") ? forms.first { $0.rawValue == ending } : nil) else {
      let endings = forms.map { ".\($0.rawValue)" }
      let others = endings.dropLast().joined(separator: ", ")
      throw UsageError(
        "\(option) \(path): expected a name that ends in \(others.isEmpty ? "" : "\(others) or ")\(endings.last ?? "")")
    }
    (self.form, self.path) = (form, path)
    name = "\(option) \(path)"
    file = try PatientFile.whole(path, named: name)
  }
}

extension [ReportFile] {
  func write(_ report: some WritableReport, _ console: Console) {
    for file in self { file.write(report, console) }
  }
}

extension ReportFile {
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
