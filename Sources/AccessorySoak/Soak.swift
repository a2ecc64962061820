import AccessoryCables
import AccessoryCore
import AccessorySessions
import AccessoryWorlds

/// Seeded worlds: a seed gives a random world, which is played in virtual time to its end, with every rule
/// checked after every step.
///
/// ```swift
/// let outcome = Soak.run(seed: 123)
/// print(outcome)                                       // what was broken, or that nothing was
/// let report = await Soak.run(seeds: 0..<5_000, workers: 2)
/// print(report.coverage)                               // and which corners that reached
/// ```
public enum Soak {
  /// Plays the world of a seed.
  public static func run(seed: UInt64) -> SoakOutcome {
    run(SoakPlan(seed: seed))
  }

  /// Plays a plan. `event` is called with every event, and `line` with every line of the transcript; `recorder`
  /// records the device's end of every cable.
  public static func run(
    _ plan: SoakPlan, event: @escaping (TimelineEvent) -> Void = { _ in }, line: ((String) -> Void)? = nil,
    recorder: CaptureRecorder? = nil
  ) -> SoakOutcome {
    let record = SoakRecord()
    let world = SoakWorld(plan, record, event: event, line: line, recorder: recorder)
    do {
      try world.play()
    } catch {
      record.violation(.end, "\(error)", at: error.instant)
    }
    world.release()
    return SoakOutcome(
      seed: plan.seed, violations: record.violations, coverage: record.coverage, hash: record.hash.value,
      steps: world.stepCount)
  }

  /// Plays the worlds of many seeds, several at a time. With `replays`, every seed divisible by it is played twice, and
  /// both runs must be the same to the byte.
  public static func run(seeds: Range<UInt64>, workers: Int, replays: UInt64? = nil) async -> SoakReport {
    let crew = SoakCrew(
      SoakRecipe(), from: seeds.lowerBound, count: UInt64(seeds.count), jobs: workers, replays: replays)
    await crew.play()
    return crew.report
  }
}

/// The result of one seed's world.
public struct SoakOutcome: Sendable, CustomStringConvertible {
  /// The seed.
  public let seed: UInt64
  /// The broken rules, each with its time; empty when every rule held.
  public let violations: [SoakViolation]
  /// The corners that were reached.
  public let coverage: SoakCoverage
  /// A hash of every byte and event with its time: two runs of one seed have the same.
  public let hash: UInt64
  /// How many loop steps it took: its cost, independent of the machine.
  public let steps: Int

  /// One line per broken rule, and the command that repeats them.
  public var description: String {
    if violations.isEmpty { return "seed \(seed): all rules held" }
    return (violations.map { "seed \(seed): \($0)" } + ["to repeat: \(SoakRecipe().command(replaying: seed))"])
      .joined(separator: "\n")
  }
}
