import AccessoryFormats
import AccessoryWorlds

/// Makes a failing world as small as possible, provided that it still breaks the same rule.
///
/// The shrinker edits the plan's scenario file by removing parts and keys and by reducing times and sizes. A change is
/// kept if the world still breaks the rule, and shrinking ends when no further change can be kept. Every candidate is
/// read in the same way as any other file, so the result is always a valid scenario. Shrinking the same plan always
/// gives the same result.
///
/// Invariant: ``plan`` breaks the rule, and ``outcome`` is the result of running it.
///
/// ```swift
/// var shrinker = SoakShrinker(SoakRecipe().plan(23))
/// shrinker?.run()
/// print(shrinker?.shrunk.scenario ?? "passed")
/// ```
public struct SoakShrinker {
  /// Limits on how much work shrinking may do.
  public struct Effort: Sendable {
    /// The maximum number of worlds to run.
    public var worlds = 2_000
    /// The maximum number of loop steps in all worlds combined.
    public var steps = 10_000_000

    /// Creates the default limits, which allow a few seconds of shrinking.
    public init() {}
  }

  /// How many other seeds to try after a part has been removed. Removing a part changes every random choice made
  /// afterwards.
  private static let otherSeeds: UInt64 = 3

  /// The smallest world found so far.
  public private(set) var plan: SoakPlan
  /// The outcome of the smallest world.
  public private(set) var outcome: SoakOutcome
  /// The rule that the world breaks.
  public let rule: SoakRule
  /// How many worlds have been run so far.
  public private(set) var worldsPlayed = 1

  private let original: SoakPlan
  private let effort: Effort
  private let kept: Set<String>
  private let isStopped: () -> Bool
  private var stepsTaken: Int

  /// Creates a shrinker for a plan that breaks a rule. Returns nil if the plan breaks no rule. If the plan breaks
  /// several rules, the first one is used. If `keepsProfiles` is true, the accessories' profiles are not changed.
  public init?(
    _ plan: SoakPlan, keepsProfiles: Bool = false, effort: Effort = Effort(),
    isStopped: @escaping () -> Bool = { false }
  ) {
    let outcome = Soak.run(plan)
    guard let first = outcome.violations.first else { return nil }
    (self.plan, original, self.outcome, rule) = (plan, plan, outcome, first.rule)
    (self.effort, self.isStopped) = (effort, isStopped)
    kept = Set(["version", "description", "seed", "forbid"] + (keepsProfiles ? ["profile"] : []))
    stepsTaken = outcome.steps
  }

  /// The smallest world found so far, in the form used in reports.
  public var shrunk: SoakReport.Shrunk {
    let seen = outcome.violations.first { $0.rule == rule }
    let text = plan.fileText(
      description: seen.map { "\($0.rule): \($0.text)" } ?? "\(rule)",
      comment: """
        A random world that breaks a rule, shrunk as far as possible:
        \(original.size) before, \(plan.size) now.
        Play it with: easim scenario run
        """)
    return SoakReport.Shrunk(before: original.size, after: plan.size, worlds: worldsPlayed, scenario: text)
  }

  /// Shrinks the plan until no change helps or a limit is reached.
  public mutating func run() {
    var before: SoakPlan
    repeat {
      before = plan
      attemptAll { $0.shorter(keeping: $1) }
      attemptAll { $0.plainer(keeping: $1) }
    } while plan != before && !isExhausted
  }

  private var isExhausted: Bool {
    worldsPlayed >= effort.worlds || stepsTaken >= effort.steps || isStopped()
  }

  private mutating func attemptAll(_ change: (JSON5Value, Set<String>) -> [SmallerTree]) {
    var changes = change(plan.tree, kept)
    var next = 0
    while !isExhausted, next < changes.count {
      if attempt(changes[next]) {
        // The index stays the same because it now refers to the next change, or to the same change in the smaller plan.
        changes = change(plan.tree, kept)
      } else {
        next += 1
      }
    }
  }

  /// Keeps a change if the rule is still broken afterwards, and returns true if it was kept.
  private mutating func attempt(_ change: SmallerTree) -> Bool {
    let tree = change.tree
    guard var smaller = try? SoakPlan(tree, ScenarioNames(in: tree)), smaller != plan else { return false }
    for seed in 0...(change.isWithoutPart ? Self.otherSeeds : 0) {
      smaller.seed = seed == 0 ? plan.seed : seed
      if isExhausted { return false }
      let result = Soak.run(smaller)
      worldsPlayed += 1
      stepsTaken += result.steps
      guard result.violations.contains(where: { $0.rule == rule }) else { continue }
      (plan, outcome) = (smaller, result)
      return true
    }
    return false
  }
}
