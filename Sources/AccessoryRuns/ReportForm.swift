/// A format of reports; its name is the file extension.
public enum ReportForm: String, CaseIterable, Sendable {
  case json
  /// The report as text for a terminal.
  case text
  /// The report as a single HTML page for people.
  case html
  /// The report as JUnit XML, for CI servers.
  case xml
  /// Tables of load tests, for spreadsheets, HdrHistogram, and metrics.
  case csv, hgrm, om, prom
}

/// A report that can be written to a file in the format given by the file's extension.
public protocol WritableReport: Sendable {
  static var forms: [ReportForm] { get }
  /// The contents of the file; `form` is either one of ``forms`` or text.
  func text(as form: ReportForm) -> String
}
