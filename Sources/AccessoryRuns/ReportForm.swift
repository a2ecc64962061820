/// A format of reports; its name is the file extension.
public enum ReportForm: String, CaseIterable, Sendable {
  case json
  /// Text for a terminal.
  case text
  /// A single page for people to read.
  case html
  /// JUnit, for CI servers.
  case xml
  /// Tables of load tests, for spreadsheets, HdrHistogram, and metrics.
  case csv, hgrm, om, prom
}

/// A report that can be written to a file in the format given by the file's extension.
public protocol WritableReport: Sendable {
  static var forms: [ReportForm] { get }
  /// The contents of the file; `form` is one of ``forms``, or text.
  func text(as form: ReportForm) -> String
}
