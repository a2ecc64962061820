import AccessoryCore
import AccessoryRuns

/// The results for the worlds of many seeds, from a whole run of `easim soak` or from some of its shards.
///
/// Worlds run in virtual time, so nothing in the report depends on the machine or the clock. The merged report of all
/// shards is identical, byte for byte, to the report of a single run. The speed of the run is printed but not stored.
public struct SoakReport: Equatable, Sendable {
  /// A world that failed.
  public struct Failure: Equatable, Sendable {
    /// The world's seed.
    public var seed: UInt64 = 0
    /// The rules that the world broke.
    public var violations: [SoakViolation] = []
    /// The world after shrinking, which is done only for the first few failures.
    public var shrunk: Shrunk?
  }

  /// A failing world after shrinking.
  public struct Shrunk: Equatable, Sendable {
    /// The original world's size, as text.
    public var before = ""
    /// The shrunk world's size, as text.
    public var after = ""
    /// How many worlds were run while shrinking the failing world.
    public var worlds = 0
    /// The shrunk world, in the form of a scenario file.
    public var scenario = ""
  }

  /// The maximum number of failures to list. Failures beyond this number are only counted.
  static let mostFailures = 100
  /// A run with fewer random worlds than this is likely to miss some corner cases.
  private static let enoughForEveryCorner = 5_000

  /// The program and its version. Different versions may generate different worlds from the same seeds.
  public var program = ""
  /// The accessories' profile, as the user specified it, or nil for random accessories.
  public var profile: String?
  /// The forbidden corner cases.
  public var forbidden: [SoakCoverage.Corner] = []
  /// The first seed of the whole run.
  public var first: UInt64 = 0
  /// The number of seeds in the whole run.
  public var seeds = 0
  /// The shards that the report contains.
  public var shards = ShardSet.whole
  /// What stopped the run before all its worlds had run, for example "Ctrl-C", or nil if nothing did.
  public var stoppedBy: String?
  /// Whether the report passes even if it contains no worlds.
  public var allowsEmpty = false
  /// The number of worlds that were run.
  public var worlds = 0
  /// The number of worlds that failed.
  public var failureCount = 0
  /// The sum of the hashes of all worlds.
  public var hash: UInt64 = 0
  /// How many times each corner case was reached, and how many times each fault took effect.
  public var coverage = SoakCoverage()
  /// The first failures, ordered by seed.
  public var failures: [Failure] = []
  /// How long the run took in real time, which is not written to report files because it differs from run to run.
  public var took = Duration.zero

  init() {}

  /// Creates an empty report.
  public init(_ recipe: SoakRecipe) { (profile, forbidden) = (recipe.profile?.reference, recipe.forbidden) }

  /// Adds the result of a world.
  public mutating func add(_ outcome: SoakOutcome) {
    worlds += 1
    coverage += outcome.coverage
    hash &+= outcome.hash
    guard !outcome.violations.isEmpty else { return }
    failureCount += 1
    keep([Failure(seed: outcome.seed, violations: outcome.violations)])
  }

  mutating func count(_ other: SoakReport) {
    worlds += other.worlds
    failureCount += other.failureCount
    hash &+= other.hash
    coverage += other.coverage
    keep(other.failures)
  }

  private mutating func keep(_ more: [Failure]) {
    if more.isEmpty { return }
    failures = Array((failures + more).sorted { $0.seed < $1.seed }.prefix(Self.mostFailures))
  }

  /// Adds the description of the run after it has ended.
  ///
  /// - Parameters:
  ///   - first: the first seed of the whole run.
  ///   - seeds: the number of seeds in the whole run. For a run with a time limit, pass nil to use the number of seeds
  ///     that were run.
  ///   - stoppedBy: what stopped the run, if anything. A run that was stopped after its last seed is complete.
  public mutating func complete(
    first: UInt64, seeds: Int?, shard: Shard = .whole, stoppedBy: String? = nil, program: String
  ) {
    (self.first, self.seeds, shards, self.program) = (first, seeds ?? worlds, ShardSet(shard), program)
    if seeds == nil || worlds < shards.share(of: self.seeds) { self.stoppedBy = stoppedBy }
  }

  /// Adds the shrunk worlds to the failures with these seeds.
  public mutating func add(_ shrunk: [UInt64: Shrunk]) {
    for index in failures.indices { failures[index].shrunk = shrunk[failures[index].seed] }
  }

  // MARK: Verdict

  /// The corner cases that were never reached, although the whole run had enough random worlds to reach them.
  public var missing: [String] {
    let isWhole = profile == nil && forbidden.isEmpty && shards.isComplete
    return isWhole && worlds >= Self.enoughForEveryCorner ? coverage.missing : []
  }

  /// The verdict, which is a pass if every world was run, no rule was broken, and no corner case was missed.
  public var verdict: Verdict {
    var reasons = failureCount > 0 ? ["\(failureCount.counted("world")) failed"] : []
    if !missing.isEmpty { reasons.append("never reached: \(missing.joined(separator: ", "))") }
    return Verdict(
      wrong: reasons, stoppedBy: stoppedBy, gap: gap, nothing: worlds > 0 || allowsEmpty ? nil : nothing)
  }

  var nothing: String { "no world is in \(shards.text.isEmpty ? "the run" : shards.text)" }

  /// The reason why a shard is incomplete, or nil if it is complete.
  public var unfinished: String? {
    let share = shards.share(of: seeds)
    if worlds == share, stoppedBy == nil { return nil }
    let how = stoppedBy.map { "was stopped by \($0)" } ?? "ended"
    return "\(shards.text.isEmpty ? "the run" : shards.text) \(how) after \(worlds) of \(share.counted("world"))"
  }

  // MARK: Sums

  /// Merges a report on other shards of the same run into this report.
  public mutating func add(_ other: SoakReport) throws(ReportSumError) {
    let differences = [
      ("program", program, other.program), ("profile", profile ?? "none", other.profile ?? "none"),
      ("first seed", "\(first)", "\(other.first)"), ("number of seeds", "\(seeds)", "\(other.seeds)"),
      ("--forbid", Self.words(forbidden), Self.words(other.forbidden)),
    ]
    if let one = differences.first(where: { $0.1 != $0.2 }) { throw .otherRun("\(one.0) \(one.1), and \(one.2)") }
    guard let counted, let more = other.counted, more <= CountSum.most - counted else { throw .tooMuchCounted }
    try shards.add(other.shards)
    allowsEmpty = allowsEmpty && other.allowsEmpty
    count(other)
    for index in failures.indices.dropFirst(SoakShrinking.most) { failures[index].shrunk = nil }
  }

  private static func words(_ corners: [SoakCoverage.Corner]) -> String {
    corners.isEmpty ? "none" : corners.map(\.word).joined(separator: " ")
  }

  var counted: Int? {
    var sum = CountSum()
    sum.add(worlds)
    sum.add(failureCount)
    for count in coverage.all { sum.add(count) }
    return sum.value
  }
}
