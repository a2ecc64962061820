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

  static func command(replaying seed: UInt64, profile: String?, forbidden: [SoakCoverage.Corner]) -> String {
    var words = ["easim", "soak"]
    if let profile { words.append(profile) }
    words += ["--seed", "\(seed)", "--seeds", "1"]
    for corner in forbidden { words += ["--forbid", corner.word] }
    return (words + ["--transcript", "-"]).map(\.shellWord).joined(separator: " ")
  }
}

/// Runs the worlds of many seeds in parallel. Each world runs on its own loop.
///
/// Jobs take seeds in order, a few at a time, so a crew that is stopped early has covered a continuous range of seeds.
public final class SoakCrew: Sendable {
  private let recipe: SoakRecipe
  private let jobs: Int
  private let seeds: WorkQueue
  private let results: Locked<SoakReport>

  /// Creates a crew but does not start it. If `count` is nil, the crew keeps running worlds until it is stopped.
  public init(_ recipe: SoakRecipe, from first: UInt64, count: UInt64? = nil, jobs: Int) {
    self.recipe = recipe
    self.jobs = jobs
    let end = count.map { first.addingReportingOverflow($0) }.map { $0.overflow ? .max : $0.partialValue } ?? .max
    // Batches are small enough for the crew to stop quickly, and large enough that jobs rarely compete for the queue.
    seeds = WorkQueue(first..<end, batch: 8)
    results = Locked(SoakReport(recipe))
  }

  /// The results so far. To turn the results into a report, call
  /// ``SoakReport/complete(first:seeds:shard:stoppedBy:program:)``.
  public var report: SoakReport { results.withLock { $0 } }

  /// How many worlds have been run, and how many of them failed.
  public var progress: (count: Int, failures: Int) { results.withLock { ($0.worlds, $0.failureCount) } }

  /// Whether all jobs have ended.
  public var isOver: Bool { seeds.isOver }

  /// Stops the crew as soon as the current batches are finished.
  public func stop() { seeds.stop() }

  /// Runs worlds until all seeds have been used or the crew is stopped.
  public func play() async {
    await seeds.work(jobs: jobs) { [recipe, results] seeds in
      var report = SoakReport(recipe)
      for seed in seeds { report.add(Soak.run(recipe.plan(seed))) }
      results.withLock { [report] in $0.count(report) }
    }
  }
}

/// Shrinks failing worlds in parallel. The lowest seeds are shrunk first, up to a maximum number of worlds.
public final class SoakShrinking: Sendable {
  /// The maximum number of worlds to shrink. Shrinking more worlds would not help to explain a failure.
  public static let most = 10

  private let recipe: SoakRecipe
  private let failures: [SoakReport.Failure]
  private let jobs: Int
  private let queue: WorkQueue
  private let isStopped = Locked(false)
  private let results = Locked<[UInt64: SoakReport.Shrunk]>([:])
  private let tries = Locked(0)

  /// Prepares to shrink the worlds in `failures`, which must be sorted by seed.
  public init(_ recipe: SoakRecipe, _ failures: [SoakReport.Failure], jobs: Int) {
    self.recipe = recipe
    self.failures = Array(failures.prefix(Self.most))
    self.jobs = jobs
    queue = WorkQueue(0..<UInt64(self.failures.count), batch: 1)
  }

  /// The worlds shrunk so far, by seed. After ``stop()``, some worlds may be only partially shrunk.
  public var shrunk: [UInt64: SoakReport.Shrunk] { results.withLock { $0 } }

  /// The number of worlds shrunk so far, the number of worlds to shrink, and the number of attempts so far.
  public var progress: (done: Int, all: Int, tries: Int) {
    (results.withLock { $0.count }, failures.count, tries.withLock { $0 })
  }

  /// Whether all worlds have been shrunk or shrinking was stopped.
  public var isOver: Bool { queue.isOver }

  /// Stops shrinking but keeps the results so far.
  public func stop() { isStopped.withLock { $0 = true } }

  /// Shrinks all the worlds.
  public func run() async {
    await queue.work(jobs: jobs) { [self] places in
      for place in places {
        let seed = failures[Int(place)].seed
        let shrinker = SoakShrinker(recipe.plan(seed), keepsProfiles: recipe.profile != nil) { [isStopped, tries] in
          tries.withLock { $0 += 1 }
          return isStopped.withLock { $0 }
        }
        guard var shrinker else { preconditionFailure("a world that failed must fail again") }
        shrinker.run()
        let shrunk = shrinker.shrunk
        results.withLock { $0[seed] = shrunk }
      }
    }
  }
}

/// Assigns numbered pieces of work to several tasks, in order, until all work is done or the queue is stopped.
private final class WorkQueue: Sendable {
  private struct State {
    var left: Range<UInt64>
    var isStopped = false
    var isOver = false
  }

  private let batch: UInt64
  private let state: Locked<State>

  init(_ numbers: Range<UInt64>, batch: UInt64) {
    self.batch = batch
    state = Locked(State(left: numbers))
  }

  var isOver: Bool { state.withLock { $0.isOver } }

  func stop() { state.withLock { $0.isStopped = true } }

  func work(jobs: Int, _ body: @escaping @Sendable (Range<UInt64>) -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<max(1, jobs) {
        group.addTask {
          while let numbers = self.take() {
            body(numbers)
            // Without this yield, other tasks on these threads would have to wait while thousands of worlds run.
            await Task.yield()
          }
        }
      }
    }
    state.withLock { $0.isOver = true }
  }

  private func take() -> Range<UInt64>? {
    state.withLock { state in
      guard !state.isStopped, !state.left.isEmpty else { return nil }
      // `prefix` would trap here: if a soak has no seed count, more numbers remain than an Int can represent.
      let next = state.left.lowerBound + min(batch, state.left.upperBound - state.left.lowerBound)
      defer { state.left = next..<state.left.upperBound }
      return state.left.lowerBound..<next
    }
  }
}
