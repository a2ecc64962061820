import AccessoryCore
import AccessoryFormats

/// The result of a run, or of some of its shards. A run is a load test, a check, a series of random worlds, a series of
/// scenarios, or a replay.
///
/// Each kind of report provides its contents, from which this module generates all formats:
///
/// | form | from |
/// |---|---|
/// | JSON, and reading it again | ``format`` |
/// | JUnit | ``suite`` |
/// | HTML | ``verdict``, ``headline``, ``figures``, ``suite`` and ``sections`` |
/// | text | ``text`` |
///
/// If the reports of all shards are merged, the result is the report of the whole run.
public protocol Report: WritableReport, Equatable {
  /// The kind of report, as written in report files, such as "soak report".
  static var kind: String { get }
  /// The format version. The version increases when easim can no longer read older reports.
  static var version: Int { get }
  /// The limits on the size and depth of report files.
  static var limits: JSON5.Limits { get }
  /// The JSON keys used in report files.
  static var format: Record<Self> { get }

  /// Which shards the report contains.
  var shards: ShardSet { get }
  /// The reason the report's shard is incomplete, or nil if the shard is complete. An incomplete shard is not
  /// merged with others.
  var unfinished: String? { get }
  /// Whether the run passes even if there was nothing to compare.
  var allowsEmpty: Bool { get set }
  /// The outcome of the run, derived from its figures and plan.
  var verdict: Verdict { get }
  /// The outcome of the run. If the run was compared with an earlier run, the outcome includes the comparison;
  /// otherwise, the outcome is ``verdict``.
  var outcome: Verdict { get }

  /// The title of the page, such as "easim check: Echo".
  var title: String { get }
  /// The result as a sentence, without a period.
  var headline: String { get }
  /// The report as text for a terminal.
  var text: String { get }
  /// What the run measured and counted. A page shows the main figures at the top.
  var figures: [ReportFigure] { get }
  /// The checks of the run.
  var suite: ReportSuite { get }
  /// Additional sections of the page.
  var sections: [PageSection] { get }
  /// The report as a single JSON object, on one line.
  var json: JSONObject { get }
  /// The date of the run, or an empty string if the report has no date.
  var date: String { get }

  /// Returns the differences between this report's plan and the other report's plan, as one sentence per difference.
  /// Results can be compared only if the plans are the same.
  func differences(from other: Self) -> [String]
  /// Returns why the sum with the report of this other run may mislead, as the rest of a sentence that begins with the
  /// other report's file, or nil.
  func caution(adding other: Self) -> String?
  /// Compares the run with an earlier run that had the same plan. After this call, ``outcome`` and every format show
  /// which figures became worse by more than the fraction `tolerance`. Returns false if reports of this kind do not
  /// support comparisons.
  mutating func compare(with earlier: Self, tolerance: Double) -> Bool
  /// Merges the report of other shards into this report, or throws an error and leaves this report unchanged.
  mutating func add(_ other: Self) throws(ReportSumError)
}

extension Report {
  /// The default format version is 1.
  public static var version: Int { 1 }
  /// The formats that all reports support.
  public static var forms: [ReportForm] { [.json, .html, .xml] }
  /// By default, the outcome is ``verdict``, because nothing is compared.
  public var outcome: Verdict { verdict }
  /// By default, a page has no additional sections.
  public var sections: [PageSection] { [] }
  /// By default, a report has no date.
  public var date: String { "" }
  /// By default, a report covers a whole run.
  public var shards: ShardSet { .whole }
  /// By default, plans have no differences.
  public func differences(from other: Self) -> [String] { [] }
  /// By default, nothing about a sum misleads.
  public func caution(adding other: Self) -> String? { nil }

  /// By default, a report does not support comparisons.
  public mutating func compare(with earlier: Self, tolerance: Double) -> Bool { false }

  /// Whether the run passed.
  public var passed: Bool { verdict.isPassed }

  /// Why this report does not cover a whole run or shard, or nil if it does.
  public var gap: String? { unfinished ?? shards.gap }

  /// Creates a report from the JSON tree of a file. Keys that later versions of easim added are ignored. If the file is
  /// invalid, the error lists every mistake.
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

  /// The report as JSON, defined by ``format``.
  public var json: JSONObject { JSONObject(Self.format.tree(self)) }

  /// The report as JUnit XML, for CI servers.
  public var junit: String { suite.xml }

  /// The report as a single-file HTML page.
  public var html: String { html(traced: nil) }

  /// Returns the report as an HTML page that links to the run's trace. `trace` is the address of the trace.
  public func html(traced trace: String?) -> String { ReportPage(self, trace: trace).html }

  /// Returns the report in one of the formats that all reports support.
  public func text(as form: ReportForm) -> String { commonText(as: form) }

  /// Returns the report in one of the formats that all reports support. Types that have additional formats call this
  /// method for all other formats.
  public func commonText(as form: ReportForm) -> String {
    switch form {
    case .json: json.text + "\n"
    case .text: text + "\n"
    case .xml: junit
    default: html
    }
  }

  /// Returns a test case that fails or is skipped if the run did not complete its plan or had nothing to do, or an
  /// empty array otherwise.
  ///
  /// - Parameters:
  ///   - all: the name of the test case if the run did not complete its plan, such as "every world was played".
  ///   - some: the name of the test case if there was nothing to do, such as "worlds".
  ///   - nothing: the reason there was nothing to do, or nil if there was something to do.
  public func completeness(_ group: String, all: String, some: String, nothing: String?) -> [ReportCase] {
    if let gap { return [ReportCase(group, all, .failed(gap))] }
    return nothing.map { [ReportCase(group, some, allowsEmpty ? .skipped($0) : .failed($0))] } ?? []
  }

  /// The first keys of a report, which identify it as a report.
  public static var headerFields: [Field<Self>] { headerFormat.fields(at: \.header) }

  /// The keys that state how the run ended. The verdict's keys must agree with the figures in the same file.
  public static var verdictFields: [Field<Self>] {
    [
      Field(confirmed: "passed", .boolean, "whether the verdict is `passed`") { $0.verdict.isPassed },
      Field(
        confirmed: "verdict", .words(["passed", "failed", "stopped", "empty"].map { ($0, $0) }),
        "the result of the run, which follows from the other keys"
      ) { $0.verdict.word },
      Field(derived: "reasons", .list(of: .text), "the reasons why the run did not pass, one sentence each") {
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
        object.error("easim", "this is not an easim \(kind)")
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

// MARK: - As a file

/// Identifies a file as a report by its marker, the kind of report, and the version.
public struct ReportHeader: Equatable, Sendable {
  fileprivate var kind: String
  fileprivate var version: Int

  /// Returns the kind of report in a JSON tree, or nil if the tree is not a report.
  public static func kind(of tree: JSON5Value) -> String? {
    if case .text(let kind)? = tree["easim"]?.content { kind } else { nil }
  }
}

/// A format for reports, whose name is also the file extension.
public enum ReportForm: String, CaseIterable, Sendable {
  case json
  /// The report as text for a terminal.
  case text
  /// The report as a single HTML page.
  case html
  /// The report as JUnit XML, for CI servers.
  case xml
  /// A load test's figures as CSV, as an HdrHistogram file, and as metrics for OpenMetrics and Prometheus.
  case csv, hgrm, om, prom
}

/// A report that can be written to a file. The file's extension selects the format.
public protocol WritableReport: Sendable {
  static var forms: [ReportForm] { get }
  /// Returns the contents of a file in one of the ``forms``, or as text.
  func text(as form: ReportForm) -> String
}

// MARK: - Formats of values that occur in several kinds of reports

extension Format<Int> {
  package static let tally = integer(0...CountSum.most)
}

extension Format<Instant> {
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
  package static let digits = parsed(
    TextShape(pattern: "^([0-9A-Fa-f]{2})*$"), expected: "bytes in hex", { try? Hex.parse($0) },
    text: { Hex.plain($0) })
}

/// The outcome of a run.
///
/// Reports do not store a verdict but compute it from their figures and plan. The exit code is 0 only for ``passed``.
public enum Verdict: Equatable, Sendable {
  case passed
  /// Something failed, for the given reasons.
  case failed([String])
  /// The run was stopped by a signal or for another reason before it had completed its plan. Nothing had failed until
  /// then.
  case stopped(by: String)
  /// The run had nothing to compare, for the given reason.
  case empty(String)

  /// Creates a failed verdict with these reasons, or ``passed`` if there are none.
  public init(reasons: [String]) { self = reasons.isEmpty ? .passed : .failed(reasons) }

  /// Creates a verdict from the first of these that is present: failures, the cause of a stop, planned work that was
  /// not done, or the reason there was nothing to judge.
  public init(wrong: [String], stoppedBy: String?, gap: String?, nothing: String?) {
    if !wrong.isEmpty {
      self = .failed(wrong)
    } else if let stoppedBy {
      self = .stopped(by: stoppedBy)
    } else if let gap {
      self = .failed([gap])
    } else {
      self = nothing.map { .empty($0) } ?? .passed
    }
  }

  /// Whether the verdict is ``passed``.
  public var isPassed: Bool { self == .passed }

  /// The word for this verdict in reports.
  public var word: String {
    switch self {
    case .passed: "passed"
    case .failed: "failed"
    case .stopped: "stopped"
    case .empty: "empty"
    }
  }

  /// The reasons why the run did not pass, as one sentence each, or an empty array if the run passed.
  public var reasons: [String] {
    switch self {
    case .passed: []
    case .failed(let reasons): reasons
    case .stopped(let signal): ["stopped by \(signal)"]
    case .empty(let reason): [reason]
    }
  }

  /// The verdict's word, capitalized for use in a headline.
  package var title: String { word.prefix(1).uppercased() + word.dropFirst() }
}

extension Format<String?> {
  /// How a run ended: `complete`, which is represented as nil, or `stopped by` followed by the cause.
  public static let ending = Format<String?>.parsed(
    TextShape(pattern: "^(complete|stopped by .+)$"), expected: "complete, or 'stopped by' and a signal"
  ) { text in
    if text == "complete" { return .some(nil) }
    let stopped = "stopped by "
    // A plain `nil` would mean the inner optional, which represents a complete run.
    guard text.hasPrefix(stopped), text != stopped else { return Optional<String?>.none }
    return .some(String(text.dropFirst(stopped.count)))
  } text: {
    $0.map { "stopped by \($0)" } ?? "complete"
  }
}
