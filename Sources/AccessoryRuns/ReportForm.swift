/// A format of reports; its name is the file extension.
public enum ReportForm: String, CaseIterable, Sendable {
  case json
  /// The report as text for a terminal.
  case text
  /// The report as a single HTML page for people.
  case html
  /// The report as JUnit XML, for CI servers.
  case xml
  /// A load test's figures for spreadsheets, for HdrHistogram's tools, and as metrics.
  case csv, hgrm, om, prom
}

/// A report that can be written to a file in the format given by the file's extension.
public protocol WritableReport: Sendable {
  static var forms: [ReportForm] { get }
  /// Returns the contents of the file; `form` is one of ``forms``, or text.
  func text(as form: ReportForm) -> String
}
