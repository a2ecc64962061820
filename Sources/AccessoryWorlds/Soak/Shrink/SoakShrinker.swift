/// Makes a failing world smaller for as long as it still breaks the same rule.
///
/// It tries one simplification after the other, keeps each with which the rule is still broken, and begins anew until
/// none helps: first whole parts are left out (faults, accessories, apps, steps, sessions), then choices go back to
/// their defaults, then times and sizes become smaller. Every plan it tries is played as any other, so what it says is
/// a fact, and it never guesses: the same plan is always shrunk to the same one.
///
/// Invariant: ``plan`` breaks the rule, and ``outcome`` is what came of playing it.
///
/// ```swift
/// var shrinker = SoakShrinker(SoakRecipe().plan(23))
/// shrinker?.run()
/// print(shrinker?.plan.fileText ?? "all rules held")
/// ```
public struct SoakShrinker {
  /// How much may be spent.
  public struct Effort: Sendable {
    /// How many worlds are played at most.
    public var worlds = 2_000
    /// How many steps of their loops they may take together.
    public var steps = 10_000_000

    /// The usual effort: some seconds.
    public init() {}
  }

  /// The smallest world so far.
  public private(set) var plan: SoakPlan
  /// How it came out.
  public private(set) var outcome: SoakOutcome
  /// The rule that it breaks.
  public let rule: SoakRule
  /// How many worlds were played on the way.
  public private(set) var worldsPlayed = 1

  private let effort: Effort
  private let keepsProfiles: Bool
  private let isStopped: () -> Bool
  private var stepsTaken: Int

  /// A shrinker for a plan that breaks a rule; nil when it breaks none. Of several, it is about the first. With
  /// `keepsProfiles`, what the accessories are is left as it is.
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

  /// Shrinks until nothing helps or the effort is spent.
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

  /// Leaves elements of a list out: all at once, then halves of it, then quarters, and at last one by one.
  private mutating func leaveOut(
    count: (SoakPlan) -> Int, atLeast least: Int = 0, _ remove: (inout SoakPlan, Range<Int>) -> Void
  ) {
    var size = count(plan) - least
    while size > 0 {
      // From the end, so that what was tried before keeps its place.
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

  /// With how many other seeds a world is tried from which something was left out: that alone makes chance fall
  /// otherwise for what remains.
  private static let otherSeeds: UInt64 = 3

  /// Keeps a change with which the rule is still broken; whether it was.
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

  /// Makes a change again and again for as long as it helps.
  private mutating func repeatedly(_ change: (inout SoakPlan) -> Void) {
    while attempt(change) {}
  }
}

extension SoakPlan {
  fileprivate mutating func removeAccessories(_ range: Range<Int>) {
    accessories.removeSubrange(range)
    steps = steps.compactMap { step in
      guard let number = step.action.accessory else { return step }
      return number.without(range).map { Step(at: step.at, action: step.action.moved(to: $0)) }
    }
  }

  fileprivate mutating func removeApps(_ range: Range<Int>) {
    apps.removeSubrange(range)
    steps = steps.compactMap { step in
      guard case .closeApp(let number) = step.action else { return step }
      return number.without(range).map { Step(at: step.at, action: .closeApp($0)) }
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

extension SoakPlan.Step.Action {
  /// The accessory it is about, if it is about one.
  var accessory: Int? {
    switch self {
    case .plugIn(let number), .unplug(let number), .pull(let number), .resetLink(let number),
      .closeSessions(let number):
      number
    case .closeApp: nil
    }
  }

  /// The same about another accessory.
  fileprivate func moved(to number: Int) -> Self {
    switch self {
    case .plugIn: .plugIn(number)
    case .unplug: .unplug(number)
    case .pull: .pull(number)
    case .resetLink: .resetLink(number)
    case .closeSessions: .closeSessions(number)
    case .closeApp: self
    }
  }
}

extension Int {
  /// A place in a list from which a range was taken; nil for a place that was taken with it.
  fileprivate func without(_ range: Range<Int>) -> Int? {
    if range.contains(self) { return nil }
    return self < range.lowerBound ? self : self - range.count
  }
}
