/// A report of a run that may be divided into shards, whose reports add up to that of the whole run.
public protocol ShardedReport: Equatable, Sendable {
  /// What its files say they are: "soak report".
  static var kind: String { get }
  /// How large a file is read.
  static var limits: JSON5.Limits { get }
  /// Reads the tree of a file; the error has everything that is wrong with it.
  init(tree: JSON5Value) throws(SourceProblems)
  /// The report as one object of JSON, on one line.
  var json: JSONObject { get }
  /// Which shards it has.
  var shards: ShardSet { get }
  /// Why a shard is not done; nil when it is. One that is not done is not added to others.
  var unfinished: String? { get }
  /// How the run came out, by its figures and its plan.
  var verdict: Verdict { get }
  /// Whether a run in which nothing was compared passes.
  var allowsEmpty: Bool { get set }
  /// Adds other shards. An error leaves the report as it was.
  mutating func add(_ other: Self) throws(ReportSumError)
}

extension ShardedReport {
  /// Whether the run passed.
  public var passed: Bool { verdict.isPassed }
}

/// What says that a file is a report, which kind and which version of it.
public struct ReportHeader: Equatable, Sendable {
  /// The kind: "burst report".
  public var kind: String
  /// The version of its format.
  public var version: Int

  /// A header.
  public init(_ kind: String, version: Int) {
    (self.kind, self.version) = (kind, version)
  }

  /// The kind of the report that a tree is; nil when it is none.
  public static func kind(of tree: JSON5Value) -> String? {
    if case .text(let kind)? = tree["easim"]?.content { kind } else { nil }
  }

  /// The keys that a report of this kind begins with.
  public static func format(_ kind: String, version: Int) -> Record<ReportHeader> {
    Record(kind, "", ReportHeader(kind, version: version)) {
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
}
