import AccessoryCore
import AccessoryRuns

/// The results of the worlds of many seeds: a run of `easim soak`, or some shards of one. This is what report files
/// contain and what is printed.
///
/// Worlds run in virtual time, so nothing in it depends on the machine or the clock: the reports of all shards add up
/// to exactly the bytes of the single run's report. The speed at which the worlds were played is printed but not
/// stored.
public struct SoakReport: Equatable, Sendable {
  /// A world that failed.
  public struct Failure: Equatable, Sendable {
    /// Its seed.
    public var seed: UInt64 = 0
    /// The broken rules.
    public var violations: [SoakViolation] = []
    /// The shrunken world; only for the first failures.
    public var shrunk: Shrunk?
  }

  /// A failing world that was shrunk.
  public struct Shrunk: Equatable, Sendable {
    /// A description of the size of the seed's world.
    public var before = ""
    /// A description of the size of the shrunken world.
    public var after = ""
    /// How many worlds were played to find it.
    public var worlds = 0
    /// The shrunken world as a scenario file.
    public var scenario = ""
  }

  /// How many failures are kept; beyond that, only their number.
  static let mostFailures = 100
  /// With fewer random worlds, a corner may well be missed.
  private static let enoughForEveryCorner = 5_000

  /// The program and its version: other versions may generate other worlds.
  public var program = ""
  /// The profile of the accessories, as given by the user; nil for random ones.
  public var profile: String?
  /// What was forbidden.
  public var forbidden: [SoakCoverage.Corner] = []
  /// The first seed of the whole run.
  public var first: UInt64 = 0
  /// How many seeds the whole run has.
  public var seeds = 0
  /// Which shards the report contains.
  public var shards = ShardSet.whole
  /// What stopped the run before it had played all its worlds: "Ctrl-C"; nil if nothing did.
  public var stoppedBy: String?
  /// Whether a run without a world passes.
  public var allowsEmpty = false
  /// How many worlds were played.
  public var worlds = 0
  /// How many of them failed.
  public var failureCount = 0
  /// The hashes of all worlds, added together.
  public var hash: UInt64 = 0
  /// How often each corner was reached, and each fault took effect.
  public var coverage = SoakCoverage()
  /// The first failures, in the order of their seeds.
  public var failures: [Failure] = []
  /// How long the run took in real time; not in files that are read back, because it differs between runs.
  public var took = Duration.zero

  init() {}

  /// Nothing played yet.
  public init(_ recipe: SoakRecipe) { (profile, forbidden) = (recipe.profile?.reference, recipe.forbidden) }

  /// Adds a world.
  public mutating func add(_ outcome: SoakOutcome) {
    worlds += 1
    coverage += outcome.coverage
    hash &+= outcome.hash
    guard !outcome.violations.isEmpty else { return }
    failureCount += 1
    keep([Failure(seed: outcome.seed, violations: outcome.violations)])
  }

  /// Adds the worlds of another report.
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

  /// Adds the description of the run, once it has ended.
  ///
  /// - Parameters:
  ///   - first: the first seed of the whole run.
  ///   - seeds: how many seeds the whole run has; nil for a run limited by time, which has as many as it played.
  ///   - stoppedBy: what stopped it, if it was stopped. A run that had played all its seeds by then is complete.
  public mutating func complete(
    first: UInt64, seeds: Int?, shard: Shard = .whole, stoppedBy: String? = nil, program: String
  ) {
    (self.first, self.seeds, shards, self.program) = (first, seeds ?? worlds, ShardSet(shard), program)
    if seeds == nil || worlds < shards.share(of: self.seeds) { self.stoppedBy = stoppedBy }
  }

  /// Adds the shrunken failing worlds, by their seeds.
  public mutating func add(_ shrunk: [UInt64: Shrunk]) {
    for index in failures.indices { failures[index].shrunk = shrunk[failures[index].seed] }
  }

  // MARK: Verdict

  /// Corners that this many random worlds should have reached. Whether a single shard reaches them is irrelevant.
  public var missing: [String] {
    let isWhole = profile == nil && forbidden.isEmpty && shards.isComplete
    return isWhole && worlds >= Self.enoughForEveryCorner ? coverage.missing : []
  }

  /// Passed if every world of the run was played, every rule held in each, and no corner is missing.
  public var verdict: Verdict {
    var reasons = failureCount > 0 ? ["\(failureCount.counted("world")) failed"] : []
    if !missing.isEmpty { reasons.append("never reached: \(missing.joined(separator: ", "))") }
    return Verdict(
      wrong: reasons, stoppedBy: stoppedBy, gap: gap, nothing: worlds > 0 || allowsEmpty ? nil : nothing)
  }

  /// Why the report is empty.
  var nothing: String { "no world is in \(shards.text.isEmpty ? "the run" : shards.text)" }

  /// Why a shard is incomplete: it was stopped before it had played its worlds.
  public var unfinished: String? {
    let share = shards.share(of: seeds)
    if worlds == share, stoppedBy == nil { return nil }
    let how = stoppedBy.map { "was stopped by \($0)" } ?? "ended"
    return "\(shards.text.isEmpty ? "the run" : shards.text) \(how) after \(worlds) of \(share.counted("world"))"
  }

  // MARK: Sums

  /// Adds other shards of the same run.
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

  /// All counts added together; nil if they overflow.
  var counted: Int? {
    var sum = CountSum()
    sum.add(worlds)
    sum.add(failureCount)
    for count in coverage.all { sum.add(count) }
    return sum.value
  }
}
