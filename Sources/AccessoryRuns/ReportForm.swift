/// A form of reports; its name is the ending of their files.
public enum ReportForm: String, CaseIterable, Sendable {
  /// For programs, and to be read again.
  case json
  /// For people on a terminal.
  case text
  /// For people: one page.
  case html
  /// For CI servers: JUnit.
  case xml
  /// Tables of load tests: for spreadsheets, for HdrHistogram, and for metrics.
  case csv, hgrm, om, prom
}

/// What can be written to a file in the form that its name asks for.
public protocol WritableReport: Sendable {
  /// The forms that it has.
  static var forms: [ReportForm] { get }
  /// The whole file; `form` is one of ``forms``, or text.
  func text(as form: ReportForm) -> String
}
