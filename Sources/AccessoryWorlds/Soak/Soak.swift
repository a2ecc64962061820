import AccessoryCore
import AccessoryTransports

/// Seeded worlds: from one number a random world, played in virtual time to its end, with every rule of the house
/// checked on the way.
///
/// ```swift
/// let outcome = Soak.run(seed: 123)
/// print(outcome)                                       // what was broken, or that nothing was
/// let report = await Soak.run(seeds: 0..<5_000, workers: 2)
/// print(report.coverage)                               // and which corners that reached
/// ```
public enum Soak {
  /// Plays the world of a seed. With `line`, it is told of every line of the transcript and of every event.
  public static func run(seed: UInt64, line: ((String) -> Void)? = nil) -> SoakOutcome {
    run(SoakPlan(seed: seed), line: line)
  }

  /// Plays a plan.
  public static func run(_ plan: SoakPlan, line: ((String) -> Void)? = nil) -> SoakOutcome {
    let record = SoakRecord()
    let world = SoakWorld(plan, record, keepsTranscript: line != nil, reportLine: line ?? { _ in })
    do {
      try world.play()
    } catch {
      record.violation("\(error)", at: error.instant)
    }
    world.release()
    return SoakOutcome(
      seed: plan.seed, violations: record.violations, coverage: record.coverage, hash: record.hash.value)
  }

  /// Plays the worlds of many seeds, on so many threads. With `replays`, every seed that it divides is played twice, and
  /// must be the same world to the byte.
  public static func run(seeds: Range<UInt64>, workers: Int, replays: UInt64? = nil) async -> SoakReport {
    let share = UInt64(max(1, workers))
    return await withTaskGroup(of: SoakReport.self) { group in
      for worker in 0..<share {
        group.addTask {
          var report = SoakReport()
          for seed in seeds where seed % share == worker {
            let outcome = run(seed: seed)
            report.add(outcome)
            if let replays, seed % replays == 0, run(seed: seed).hash != outcome.hash { report.differs(seed) }
            // The threads are everybody's; whoever waits for one need not wait for thousands of worlds.
            await Task.yield()
          }
          return report
        }
      }
      return await group.reduce(into: SoakReport()) { $0 += $1 }
    }
  }
}

/// How the world of one seed came out.
public struct SoakOutcome: Sendable, CustomStringConvertible {
  /// The seed.
  public let seed: UInt64
  /// The rules that were broken, each with its time; empty when all is well.
  public let violations: [String]
  /// The corners that were reached.
  public let coverage: SoakCoverage
  /// A hash of every byte that passed, every event, and when: two runs of one seed have the same.
  public let hash: UInt64

  /// The command that plays this world again and shows all that happens in it.
  public var replayCommand: String { "swift run SeededWorlds --seed \(seed)" }

  /// One line per broken rule, and how to see them again.
  public var description: String {
    if violations.isEmpty { return "seed \(seed): all rules held" }
    return (violations.map { "seed \(seed): \($0)" } + ["to see it again: \(replayCommand)"]).joined(separator: "\n")
  }
}

/// How the worlds of many seeds came out.
public struct SoakReport: Sendable {
  /// How many worlds were played.
  public private(set) var count = 0
  /// Those in which a rule was broken.
  public private(set) var failures: [SoakOutcome] = []
  /// The seeds whose second run was not like the first.
  public private(set) var differing: [UInt64] = []
  /// The corners that were reached, added up.
  public private(set) var coverage = SoakCoverage()
  /// The hashes of all worlds together: the same in every process, whatever the number of threads.
  public private(set) var hash: UInt64 = 0

  /// Nothing played yet.
  public init() {}

  mutating func add(_ outcome: SoakOutcome) {
    count += 1
    coverage += outcome.coverage
    hash &+= outcome.hash
    if !outcome.violations.isEmpty { failures.append(outcome) }
  }

  mutating func differs(_ seed: UInt64) {
    differing.append(seed)
  }

  static func += (left: inout SoakReport, right: SoakReport) {
    left.count += right.count
    left.failures += right.failures
    left.differing += right.differing
    left.coverage += right.coverage
    left.hash &+= right.hash
  }
}
