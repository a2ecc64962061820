import AccessoryFormats

/// What came of a run, or of some shards of one: of a load test, a check, random worlds, scenarios, or a replay.
///
/// A tool says what its report holds; every form that users read is written from that, here and once:
///
/// | form | from |
/// |---|---|
/// | JSON, and reading it again | ``format`` |
/// | JUnit | ``suite`` |
/// | HTML | ``verdict``, ``headline``, ``figures``, ``suite`` and ``sections`` |
/// | text | ``text`` |
///
/// The reports of all shards add up to that of the whole run.
public protocol Report: WritableReport, Equatable {
  /// What its files say they are: "soak report".
  static var kind: String { get }
  /// Changes when reports of an older easim could not be read.
  static var version: Int { get }
  /// How large a file is read.
  static var limits: JSON5.Limits { get }
  /// Its keys in files.
  static var format: Record<Self> { get }

  /// Which shards it has.
  var shards: ShardSet { get }
  /// Why a shard is not done; nil when it is. One that is not done is not added to others.
  var unfinished: String? { get }
  /// Whether a run in which nothing was compared passes.
  var allowsEmpty: Bool { get set }
  /// How the run came out, by its figures and its plan.
  var verdict: Verdict { get }
  /// The same where it is compared with an earlier run; without one, ``verdict``.
  var outcome: Verdict { get }

  /// Which run it was, for the title of a page: "easim check: Echo".
  var title: String { get }
  /// What came of it, as a sentence without a full stop.
  var headline: String { get }
  /// For people on a terminal.
  var text: String { get }
  /// What was measured or counted; the main ones stand at the head of a page.
  var figures: [ReportFigure] { get }
  /// What was checked.
  var suite: ReportSuite { get }
  /// What a page has beside these.
  var sections: [PageSection] { get }
  /// The report as one object of JSON, on one line.
  var json: JSONObject { get }
  /// When the run was made; empty where that is not in the report.
  var date: String { get }

  /// In which ways it is the report of another plan, each in words. Results of different plans cannot be compared.
  func differences(from other: Self) -> [String]
  /// Compares it with an earlier run of the same plan: ``outcome`` and every form then say what became worse by more than
  /// the part `tolerance`. False where reports of this kind have no such comparison.
  mutating func compare(with earlier: Self, tolerance: Double) -> Bool
  /// Adds other shards. An error leaves the report as it was.
  mutating func add(_ other: Self) throws(ReportSumError)
}

extension Report {
  /// Nothing has changed since the first version.
  public static var version: Int { 1 }
  /// What every report has.
  public static var forms: [ReportForm] { [.json, .html, .xml] }
  /// Without an earlier run, the verdict.
  public var outcome: Verdict { verdict }
  /// Nothing besides.
  public var sections: [PageSection] { [] }
  /// Not in the report.
  public var date: String { "" }
  /// The same plan.
  public func differences(from other: Self) -> [String] { [] }

  /// No comparison.
  public mutating func compare(with earlier: Self, tolerance: Double) -> Bool { false }

  /// Whether the run passed.
  public var passed: Bool { verdict.isPassed }

  /// Why it is not the report of a whole run, or of a whole shard.
  public var gap: String? { unfinished ?? shards.gap }

  /// Reads the tree of a file; the error has everything that is wrong with it. Keys that a later version added are passed
  /// over.
  public init(tree: JSON5Value) throws(SourceProblems) {
    _ = try Self.headerFormat.readKnown(tree)
    self = try Self.format.readKnown(tree)
  }

  /// Reads a file.
  public init(json bytes: [UInt8], file: String) throws(SourceProblems) {
    let tree: JSON5Value
    do { tree = try JSON5.read(bytes, file: file, limits: Self.limits) } catch { throw SourceProblems([error]) }
    try self.init(tree: tree)
  }

  /// As ``format`` has it.
  public var json: JSONObject { JSONObject(Self.format.tree(self)) }

  /// For CI servers: JUnit as XML.
  public var junit: String { suite.xml }

  /// For people: one page that needs nothing else.
  public var html: String { ReportPage(self).html }

  /// The forms that every report has.
  public func text(as form: ReportForm) -> String { commonText(as: form) }

  /// The same, for reports that have more.
  public func commonText(as form: ReportForm) -> String {
    switch form {
    case .json: json.text + "\n"
    case .text: text + "\n"
    case .xml: junit
    default: html
    }
  }

  /// The case that says whether all was done that the plan asks for; none where it was.
  ///
  /// - Parameters:
  ///   - all: the name of the case where something is missing: "every world was played".
  ///   - some: its name where there was nothing to do: "worlds".
  ///   - nothing: why there was nothing; nil where there was something.
  public func completeness(_ group: String, all: String, some: String, nothing: String?) -> [ReportCase] {
    if let gap { return [ReportCase(group, all, .failed(gap))] }
    return nothing.map { [ReportCase(group, some, allowsEmpty ? .skipped($0) : .failed($0))] } ?? []
  }
}

// MARK: - As a file

/// What says that a file is a report, which kind and which version of it.
public struct ReportHeader: Equatable, Sendable {
  fileprivate var kind: String
  fileprivate var version: Int

  /// The kind of the report that a tree is; nil when it is none.
  public static func kind(of tree: JSON5Value) -> String? {
    if case .text(let kind)? = tree["easim"]?.content { kind } else { nil }
  }
}

extension Report {
  /// The keys that a report begins with: what it is.
  public static var headerFields: [Field<Self>] { headerFormat.fields(at: \.header) }

  /// The keys that say how the run came out. A file in which they say something else than its figures is refused.
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
