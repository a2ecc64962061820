/// Makes a failing world smaller while it still breaks the same rule.
///
/// It tries one simplification after the other, keeps each one that still breaks the rule, and starts again until
/// none helps: first it leaves out whole parts (faults, accessories, apps, steps, sessions), then it resets settings to
/// their defaults, then it reduces times and sizes. Every candidate is played like any other plan, so the result is
/// never a guess, and the same plan always shrinks to the same result.
///
/// Invariant: ``plan`` breaks the rule, and ``outcome`` is its result.
///
/// ```swift
/// var shrinker = SoakShrinker(SoakRecipe().plan(23))
/// shrinker?.run()
/// print(shrinker?.plan.fileText ?? "all rules held")
/// ```
public struct SoakShrinker {
  /// The limits of the effort.
  public struct Effort: Sendable {
    /// The most worlds that are played.
    public var worlds = 2_000
    /// The most loop steps they take together.
    public var steps = 10_000_000

    /// The usual limits: some seconds.
    public init() {}
  }

  /// The smallest world so far.
  public private(set) var plan: SoakPlan
  /// Its result.
  public private(set) var outcome: SoakOutcome
  /// The rule that it breaks.
  public let rule: SoakRule
  /// How many worlds were played so far.
  public private(set) var worldsPlayed = 1

  private let effort: Effort
  private let keepsProfiles: Bool
  private let isStopped: () -> Bool
  private var stepsTaken: Int

  /// A shrinker for a plan that breaks a rule; nil when it breaks none. Of several broken rules it takes the first.
  /// With `keepsProfiles` the accessories' profiles stay as they are.
  public init?(
    _ plan: SoakPlan, keepsProfiles: Bool = false, effort: Effort = Effort(),
    isStopped: @escaping () -> Bool = { false }
  ) {
    let outcome = Soak.run(plan)
    guard let first = outcome.violations.first else { return nil }
    self.plan = plan
    self.outcome = outcome
    self.effort = effort
    self.keepsProfiles = keepsProfiles
    self.isStopped = isStopped
    rule = first.rule
    stepsTaken = outcome.steps
  }

  private var isExhausted: Bool {
    worldsPlayed >= effort.worlds || stepsTaken >= effort.steps || isStopped()
  }

  /// Shrinks until nothing helps or the limits are reached.
  public mutating func run() {
    while !isExhausted {
      let before = plan
      leaveOut()
      for simplify in SoakSimplification.choices(of: plan, keepingProfiles: keepsProfiles) { attempt(simplify) }
      for reduce in SoakSimplification.numbers(of: plan) { repeatedly(reduce) }
      if plan == before { return }
    }
  }

  // MARK: Leaving out

  private mutating func leaveOut() {
    leaveOut(count: \.faults.count) { $0.faults.removeSubrange($1) }
    leaveOut(count: \.accessories.count, atLeast: 1) { $0.removeAccessories($1) }
    leaveOut(count: \.apps.count) { $0.removeApps($1) }
    leaveOut(count: \.steps.count) { $0.steps.removeSubrange($1) }
    for app in plan.apps.indices {
      leaveOut(count: { $0.apps[app].sessions.count }) { $0.apps[app].sessions.removeSubrange($1) }
    }
    for accessory in plan.accessories.indices {
      leaveOut(count: { $0.accessories[accessory].streams.count }, atLeast: 1) {
        $0.accessories[accessory].streams.removeSubrange($1)
      }
      if keepsProfiles { continue }
      leaveOut(count: { $0.accessories[accessory].profile.quirks.count }) {
        $0.accessories[accessory].profile.quirks.removeSubrange($1)
      }
      leaveOut(count: { $0.accessories[accessory].profile.protocols.count }, atLeast: 1) {
        $0.accessories[accessory].profile.protocols.removeSubrange($1)
      }
    }
  }

  /// Leaves elements of a list out: all of them, then halves, then quarters, and finally single ones.
  private mutating func leaveOut(
    count: (SoakPlan) -> Int, atLeast least: Int = 0, _ remove: (inout SoakPlan, Range<Int>) -> Void
  ) {
    var size = count(plan) - least
    while size > 0 {
      // From the end, so that the indexes of earlier elements stay valid.
      var end = count(plan)
      while end > 0, count(plan) > least {
        let begin = max(0, end - min(size, count(plan) - least))
        attempt(otherSeeds: Self.otherSeeds) { remove(&$0, begin..<end) }
        end = min(begin, count(plan))
      }
      size /= 2
    }
  }

  // MARK: Trying

  /// With how many other seeds a smaller world is tried: leaving something out changes the random
  /// choices for the rest.
  private static let otherSeeds: UInt64 = 3

  /// Keeps a change if the rule is still broken, and returns whether it was.
  @discardableResult
  private mutating func attempt(otherSeeds: UInt64 = 0, _ change: (inout SoakPlan) -> Void) -> Bool {
    var smaller = plan
    change(&smaller)
    guard smaller != plan else { return false }
    for seed in 0...otherSeeds {
      smaller.seed = seed == 0 ? plan.seed : seed
      if play(smaller) { return true }
    }
    return false
  }

  private mutating func play(_ smaller: SoakPlan) -> Bool {
    guard !isExhausted else { return false }
    let result = Soak.run(smaller)
    worldsPlayed += 1
    stepsTaken += result.steps
    guard result.violations.contains(where: { $0.rule == rule }) else { return false }
    plan = smaller
    outcome = result
    return true
  }

  /// Repeats a change while it helps.
  private mutating func repeatedly(_ change: (inout SoakPlan) -> Void) {
    while attempt(change) {}
  }
}

extension SoakPlan {
  fileprivate mutating func removeAccessories(_ range: Range<Int>) {
    removeSteps(about: accessories[range].map(\.name), areApps: false)
    accessories.removeSubrange(range)
  }

  fileprivate mutating func removeApps(_ range: Range<Int>) {
    removeSteps(about: apps[range].map(\.name), areApps: true)
    apps.removeSubrange(range)
  }

  /// An app may have the name of an accessory.
  private mutating func removeSteps(about names: [String], areApps: Bool) {
    steps.removeAll { step in
      let isOfApp = if case .app = step.action { true } else { false }
      return isOfApp == areApps && step.action.subject.map(names.contains) ?? false
    }
  }
}

extension SoakPlan.Accessory {
  /// The streams of its conduct; an echo has none.
  fileprivate var streams: [SoakStreamPlan] {
    get { if case .streams(let streams) = conduct { streams } else { [] } }
    set { if case .streams = conduct { conduct = .streams(newValue) } }
  }
}
