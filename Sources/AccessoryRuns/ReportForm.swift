/// A format of reports; its name is the extension of the files.
public enum ReportForm: String, CaseIterable, Sendable {
  /// JSON, for programs and for reading reports back.
  case json
  /// Text for a terminal.
  case text
  /// A single page for people to read.
  case html
  /// JUnit, for CI servers.
  case xml
  /// Tables of load tests: for spreadsheets, for HdrHistogram, and for metrics.
  case csv, hgrm, om, prom
}

/// What can be written to a file in the format that the file's name asks for.
public protocol WritableReport: Sendable {
  /// The available formats.
  static var forms: [ReportForm] { get }
  /// The contents of the file; `form` is one of ``forms``, or text.
  func text(as form: ReportForm) -> String
}
