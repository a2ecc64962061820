import AccessoryCore

/// A failing world that was made smaller.
public struct SoakShrunk: Sendable {
  /// The result of the seed's world.
  public let original: SoakOutcome
  /// The plan of the seed.
  public let before: SoakPlan
  /// The smallest plan that breaks the same rule.
  public let plan: SoakPlan
  /// Its result.
  public let outcome: SoakOutcome
  /// The rule.
  public let rule: SoakRule
  /// How many worlds were played to find the smallest plan.
  public let worldsPlayed: Int

  /// The broken rule, as seen in the smallest world.
  public var violation: SoakViolation? { outcome.violations.first { $0.rule == rule } }

  /// The smallest world as a scenario file.
  public var fileText: String {
    plan.fileText(
      description: violation.map { "\($0.rule): \($0.text)" } ?? "\(rule)",
      comment: """
        A random world that breaks a rule, made as small as it would go:
        \(before.size) before, \(plan.size) now.
        easim scenario run plays it.
        """)
  }
}

extension SoakPlan {
  /// "5 steps, 2 faults, 3 sessions".
  public var size: String {
    let sessions = apps.reduce(0) { $0 + $1.sessions.count }
    return [steps.count.counted("step"), faults.count.counted("fault"), sessions.counted("session")].joined(
      separator: ", ")
  }
}

/// Shrinks failing worlds in parallel: those with the lowest seeds, up to a number.
public final class SoakShrinking: Sendable {
  /// More would explain nothing further.
  public static let most = 10

  private struct State {
    var next = 0
    var results: [SoakShrunk] = []
    var isStopped = false
    var isOver = false
  }

  private let recipe: SoakRecipe
  private let failures: [SoakOutcome]
  private let jobs: Int
  private let state = Locked(State())

  /// Nothing is shrunk yet. Failures are in the order of their seeds.
  public init(_ recipe: SoakRecipe, _ failures: [SoakOutcome], jobs: Int) {
    self.recipe = recipe
    self.failures = Array(failures.prefix(Self.most))
    self.jobs = jobs
  }

  /// The worlds shrunk so far, in the order of their seeds; after a stop they are as small as they got.
  public var results: [SoakShrunk] {
    state.withLock { $0.results.sorted { $0.original.seed < $1.original.seed } }
  }

  /// Whether all is done.
  public var isOver: Bool { state.withLock { $0.isOver } }

  /// Stops; worlds stay as small as they got.
  public func stop() {
    state.withLock { $0.isStopped = true }
  }

  /// Shrinks them all.
  public func run() async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<max(1, min(jobs, failures.count)) {
        group.addTask {
          while let failure = self.take() {
            self.shrink(failure)
            await Task.yield()
          }
        }
      }
    }
    state.withLock { $0.isOver = true }
  }

  private func take() -> SoakOutcome? {
    state.withLock { state in
      guard state.next < failures.count else { return nil }
      state.next += 1
      return failures[state.next - 1]
    }
  }

  private func shrink(_ failure: SoakOutcome) {
    let plan = recipe.plan(failure.seed)
    let shrinker = SoakShrinker(plan, keepsProfiles: recipe.profile != nil) { self.state.withLock { $0.isStopped } }
    guard var shrinker else { preconditionFailure("a world that broke a rule must break it again") }
    shrinker.run()
    let shrunk = SoakShrunk(
      original: failure, before: plan, plan: shrinker.plan, outcome: shrinker.outcome, rule: shrinker.rule,
      worldsPlayed: shrinker.worldsPlayed)
    state.withLock { $0.results.append(shrunk) }
  }
}
