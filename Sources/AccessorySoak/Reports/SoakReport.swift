/// The results of the worlds of many seeds.
public struct SoakReport: Sendable {
  /// How many failures are kept; of more, only the number.
  static let mostFailures = 100

  /// How many worlds were played.
  public private(set) var count = 0
  /// How many worlds broke a rule.
  public private(set) var failureCount = 0
  /// The first failures, in the order of their seeds.
  public private(set) var failures: [SoakOutcome] = []
  /// The seeds whose second run differed from the first.
  public private(set) var differing: [UInt64] = []
  /// The corners that were reached, summed over all worlds.
  public private(set) var coverage = SoakCoverage()
  /// The combined hash of all worlds: the same in every process, with any number of threads.
  public private(set) var hash: UInt64 = 0

  /// Nothing played yet.
  public init() {}

  /// Adds a world.
  public mutating func add(_ outcome: SoakOutcome) {
    count += 1
    coverage += outcome.coverage
    hash &+= outcome.hash
    guard !outcome.violations.isEmpty else { return }
    failureCount += 1
    keep([outcome])
  }

  mutating func differs(_ seed: UInt64) {
    differing.append(seed)
  }

  private mutating func keep(_ outcomes: [SoakOutcome]) {
    if outcomes.isEmpty { return }
    failures = Array((failures + outcomes).sorted { $0.seed < $1.seed }.prefix(Self.mostFailures))
  }

  static func += (left: inout SoakReport, right: SoakReport) {
    left.count += right.count
    left.failureCount += right.failureCount
    left.keep(right.failures)
    left.differing += right.differing
    left.coverage += right.coverage
    left.hash &+= right.hash
  }
}
