import AccessoryCables
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessoryWorlds

/// Runs seeded worlds. Each seed produces a random world, which runs in virtual time until it ends. The rules are
/// checked after every step.
///
/// ```swift
/// let outcome = Soak.run(SoakPlan(seed: 123))
/// print(outcome)                                       // the broken rules, or that all held
/// let crew = SoakCrew(SoakRecipe(), from: 0, count: 5_000, jobs: 2)
/// await crew.play()
/// print(crew.report.coverage)                          // the corners that these worlds reached
/// ```
public enum Soak {
  /// Runs a plan's world. `event` is called with each event, and `line` with each line of the transcript. `recorder`
  /// records every cable at the device's end.
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
}

/// The result of running one seed's world.
public struct SoakOutcome: Sendable, CustomStringConvertible {
  /// The seed.
  public let seed: UInt64
  /// The rules that were broken, and when; empty if none was broken.
  public let violations: [SoakViolation]
  /// The corner cases that were reached.
  public let coverage: SoakCoverage
  /// A hash of every byte and event, including its time. The same seed always produces the same hash.
  public let hash: UInt64
  /// How many loop steps the world took, which measures its cost independently of the machine.
  public let steps: Int

  /// A line for each broken rule, followed by the command that reproduces the world.
  public var description: String {
    if violations.isEmpty { return "seed \(seed): passed" }
    return (violations.map { "seed \(seed): \($0)" } + ["to repeat: \(SoakRecipe().command(replaying: seed))"])
      .joined(separator: "\n")
  }
}

/// The settings that all worlds in a run share.
///
/// ```swift
/// var recipe = SoakRecipe()
/// recipe.profile = ("lawk-view", try library.template("lawk-view"))
/// recipe.forbidden = [.giveUp]
/// let outcome = Soak.run(recipe.plan(23))
/// ```
public struct SoakRecipe: Sendable {
  /// The accessories' profile and the name or path that the user gave for it, or nil for random accessories.
  public var profile: (reference: String, template: ProfileTemplate)?
  /// Corner cases that count as a broken rule if they are reached.
  public var forbidden: [SoakCoverage.Corner] = []

  /// Creates a recipe for random accessories that allows every corner case.
  public init() {}

  /// Returns the plan for a seed.
  public func plan(_ seed: UInt64) -> SoakPlan {
    var plan = SoakPlan(seed: seed, template: profile?.template)
    plan.forbidden = forbidden
    return plan
  }

  /// Returns the command that replays a seed's world and prints a transcript.
  public func command(replaying seed: UInt64) -> String {
    Self.command(replaying: seed, profile: profile?.reference, forbidden: forbidden)
  }

  /// Returns the command that replays a seed's world with a profile and with forbidden corner cases.
  static func command(replaying seed: UInt64, profile: String?, forbidden: [SoakCoverage.Corner]) -> String {
    var words = ["easim", "soak"]
    if let profile { words.append(profile) }
    words += ["--seed", "\(seed)", "--seeds", "1"]
    for corner in forbidden { words += ["--forbid", corner.word] }
    return (words + ["--transcript", "-"]).map(\.shellWord).joined(separator: " ")
  }
}
