import AccessoryCore

/// Plays the worlds of many seeds in parallel: each world on a loop of its own, as many at a time as there are
/// jobs.
///
/// Seeds are handed out in order, a few at a time, so whenever it stops, it has played the seeds from the first on
/// without a gap.
///
/// ```swift
/// let crew = SoakCrew(SoakRecipe(), from: 0, count: 10_000, jobs: 2)
/// await crew.play()
/// print(crew.report.coverage)
/// ```
public final class SoakCrew: Sendable {
  private struct State {
    var next: UInt64
    var report = SoakReport()
    var isStopped = false
    var isOver = false
  }

  /// How many seeds a job takes at once: few, so that stopping is quick, and enough that jobs rarely contend.
  private static let batch: UInt64 = 8

  private let recipe: SoakRecipe
  private let end: UInt64
  private let jobs: Int
  private let replays: UInt64?
  private let state: Locked<State>

  /// A crew that has not started. Without a count it plays until it is stopped. With `replays`, every seed divisible by
  /// it is played twice, and both runs must be the same to the byte.
  public init(
    _ recipe: SoakRecipe, from first: UInt64, count: UInt64? = nil, jobs: Int, replays: UInt64? = nil
  ) {
    self.recipe = recipe
    self.jobs = max(1, jobs)
    self.replays = replays
    end = count.map { first.addingReportingOverflow($0) }.map { $0.overflow ? .max : $0.partialValue } ?? .max
    state = Locked(State(next: first))
  }

  /// The results so far.
  public var report: SoakReport { state.withLock { $0.report } }

  /// How many worlds were played, and how many of them broke a rule.
  public var progress: (count: Int, failures: Int) {
    state.withLock { ($0.report.count, $0.report.failureCount) }
  }

  /// Whether every job has ended.
  public var isOver: Bool { state.withLock { $0.isOver } }

  /// Starts no more worlds.
  public func stop() {
    state.withLock { $0.isStopped = true }
  }

  /// Plays until all seeds are played or it is stopped.
  public func play() async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<jobs {
        group.addTask {
          while let seeds = self.take() {
            self.play(seeds)
            // The threads are shared with other tasks, which must not wait for thousands of worlds.
            await Task.yield()
          }
        }
      }
    }
    state.withLock { $0.isOver = true }
  }

  private func take() -> Range<UInt64>? {
    state.withLock { state in
      guard !state.isStopped, state.next < end else { return nil }
      let first = state.next
      state.next = end - first > Self.batch ? first + Self.batch : end
      return first..<state.next
    }
  }

  private func play(_ seeds: Range<UInt64>) {
    var report = SoakReport()
    for seed in seeds {
      let plan = recipe.plan(seed)
      let outcome = Soak.run(plan)
      report.add(outcome)
      if let replays, seed % replays == 0, Soak.run(plan).hash != outcome.hash { report.differs(seed) }
    }
    state.withLock { $0.report += report }
  }
}
