import AccessoryCore
import AccessoryFormats

/// The result of a run, or of some of the run's shards. A run is a load test, a check, a series of random worlds, a
/// series of scenarios, or a replay.
///
/// Each tool defines what its report contains; this module then generates all formats for users:
///
/// | form | from |
/// |---|---|
/// | JSON, and reading it again | ``format`` |
/// | JUnit | ``suite`` |
/// | HTML | ``verdict``, ``headline``, ``figures``, ``suite`` and ``sections`` |
/// | text | ``text`` |
///
/// Adding the reports of all shards gives the report of the whole run.
public protocol Report: WritableReport, Equatable {
  /// The kind of report, as stated in report files, for example "soak report".
  static var kind: String { get }
  /// The format version, which is increased when older reports can no longer be read.
  static var version: Int { get }
  /// The limits for report files.
  static var limits: JSON5.Limits { get }
  /// The JSON keys used in report files.
  static var format: Record<Self> { get }

  /// Which shards the report contains.
  var shards: ShardSet { get }
  /// Why a shard is incomplete; nil if it is complete. An incomplete shard is not added to other shards.
  var unfinished: String? { get }
  /// Whether a run passes even if it compared nothing.
  var allowsEmpty: Bool { get set }
  /// The outcome of the run, derived from its figures and its plan.
  var verdict: Verdict { get }
  /// The outcome of comparing with an earlier run; without an earlier run, ``verdict``.
  var outcome: Verdict { get }

  /// A short description of the run for a page's title, for example "easim check: Echo".
  var title: String { get }
  /// The result, as a sentence without a full stop.
  var headline: String { get }
  /// The report as text for a terminal.
  var text: String { get }
  /// The figures that were measured or counted; a page shows the main figures at the top.
  var figures: [ReportFigure] { get }
  /// The checks of the run.
  var suite: ReportSuite { get }
  /// The page's additional sections.
  var sections: [PageSection] { get }
  /// The report as one JSON object, on one line.
  var json: JSONObject { get }
  /// The date of the run; empty if the report does not contain it.
  var date: String { get }

  /// Returns how this report's plan differs from the other report's plan, one sentence per difference. Results of
  /// different plans cannot be compared.
  func differences(from other: Self) -> [String]
  /// Compares the run with an earlier run of the same plan. Afterwards, ``outcome`` and every format show which figures
  /// became worse by more than the fraction `tolerance`. Returns false if reports of this kind cannot be compared this
  /// way.
  mutating func compare(with earlier: Self, tolerance: Double) -> Bool
  /// Adds other shards. If an error is thrown, the report is unchanged.
  mutating func add(_ other: Self) throws(ReportSumError)
}

extension Report {
  /// By default, the format version is 1.
  public static var version: Int { 1 }
  /// The formats of all reports.
  public static var forms: [ReportForm] { [.json, .html, .xml] }
  /// By default, the outcome is ``verdict``, without a comparison.
  public var outcome: Verdict { verdict }
  /// There are no additional sections by default.
  public var sections: [PageSection] { [] }
  /// There is no date by default.
  public var date: String { "" }
  /// There are no differences by default.
  public func differences(from other: Self) -> [String] { [] }

  /// There is no comparison by default.
  public mutating func compare(with earlier: Self, tolerance: Double) -> Bool { false }

  /// Whether the run passed.
  public var passed: Bool { verdict.isPassed }

  /// Why this report does not cover a whole run or a whole shard; nil if it does.
  public var gap: String? { unfinished ?? shards.gap }

  /// Creates a report from a file's JSON tree; the error lists everything that is wrong with the file. Keys added by
  /// later versions are ignored.
  public init(tree: JSON5Value) throws(SourceProblems) {
    _ = try Self.headerFormat.readKnown(tree)
    self = try Self.format.readKnown(tree)
  }

  /// Reads a report file.
  public init(json bytes: [UInt8], file: String) throws(SourceProblems) {
    let tree: JSON5Value
    do { tree = try JSON5.read(bytes, file: file, limits: Self.limits) } catch { throw SourceProblems([error]) }
    try self.init(tree: tree)
  }

  /// The JSON defined by ``format``.
  public var json: JSONObject { JSONObject(Self.format.tree(self)) }

  /// JUnit XML, for CI servers.
  public var junit: String { suite.xml }

  /// The report as an HTML page in a single file.
  public var html: String { html(traced: nil) }

  /// Returns the report as an HTML page, with links to the run's trace at the given address.
  public func html(traced trace: String?) -> String { ReportPage(self, trace: trace).html }

  /// Returns the report in one of the formats that all reports have.
  public func text(as form: ReportForm) -> String { commonText(as: form) }

  /// Returns the report in one of the common formats. Report types with additional formats call this method.
  public func commonText(as form: ReportForm) -> String {
    switch form {
    case .json: json.text + "\n"
    case .text: text + "\n"
    case .xml: junit
    default: html
    }
  }

  /// Returns a test case that fails or is skipped because something in the plan was not done; empty if all was done.
  ///
  /// - Parameters:
  ///   - all: the name of the case if something is missing: "every world was played".
  ///   - some: the name of the case if there was nothing to do: "worlds".
  ///   - nothing: why there was nothing to do; nil if there was something.
  public func completeness(_ group: String, all: String, some: String, nothing: String?) -> [ReportCase] {
    if let gap { return [ReportCase(group, all, .failed(gap))] }
    return nothing.map { [ReportCase(group, some, allowsEmpty ? .skipped($0) : .failed($0))] } ?? []
  }
}

// MARK: - As a file

/// What identifies a file as a report: a marker, the kind of report, and the version.
public struct ReportHeader: Equatable, Sendable {
  fileprivate var kind: String
  fileprivate var version: Int

  /// Returns the kind of report that a JSON tree contains; nil if the tree is not a report.
  public static func kind(of tree: JSON5Value) -> String? {
    if case .text(let kind)? = tree["easim"]?.content { kind } else { nil }
  }
}

extension Report {
  /// The keys at the beginning of a report, which identify it.
  public static var headerFields: [Field<Self>] { headerFormat.fields(at: \.header) }

  /// The keys that state how the run ended. A file is refused if these keys contradict the file's figures.
  public static var verdictFields: [Field<Self>] {
    [
      Field(confirmed: "passed", .boolean, "whether the verdict is `passed`") { $0.verdict.isPassed },
      Field(
        confirmed: "verdict", .words(["passed", "failed", "stopped", "empty"].map { ($0, $0) }),
        "how the run came out; it follows from the other keys"
      ) { $0.verdict.word },
      Field(derived: "reasons", .list(of: .text), "why it did not pass, a sentence for each reason") {
        $0.verdict.reasons
      },
    ]
  }

  private static var headerFormat: Record<ReportHeader> {
    Record(kind, "", ReportHeader(kind: kind, version: version)) {
      Field("easim", \.kind, .text, "what this is: `\(kind)`", isRequired: true)
      Field("version", \.version, .integer(0...Int.max), "the version of this format", isRequired: true)
    }.checked { header, object in
      if header.kind != kind {
        object.error("easim", "this is not a \(kind) of easim")
      } else if header.version != version {
        object.error("version", "the report has version \(header.version), but this easim reads version \(version)")
      }
    }
  }

  private var header: ReportHeader {
    get { ReportHeader(kind: Self.kind, version: Self.version) }
    set {}
  }
}

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

// MARK: - Formats of values that occur in several kinds of reports

extension Format<Int> {
  /// A count; see ``CountSum/most``.
  package static let tally = integer(0...CountSum.most)
}

extension Format<Instant> {
  /// A point in time, in nanoseconds.
  package static let instant: Format = Format<Int>.tally.map {
    Instant(nanoseconds: Int64($0))
  } back: {
    Int($0.nanoseconds)
  }
}

extension Format<Duration> {
  package static let nanoseconds: Format = Format<Int>.tally.map {
    Duration.nanoseconds($0)
  } back: {
    Int($0.wholeNanoseconds)
  }
}

extension Format<[UInt8]> {
  /// Bytes as hex digits.
  package static let digits = parsed(
    TextShape(pattern: "^([0-9A-Fa-f]{2})*$"), expected: "bytes in hex", { try? Hex.parse($0) },
    text: { Hex.plain($0) })
}
