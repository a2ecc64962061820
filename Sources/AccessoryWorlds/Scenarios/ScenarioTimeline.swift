import AccessoryCore

/// Runs the steps of a scenario when they are due.
///
/// When one process plays both ends, the time of a scenario begins at the start. When two processes play one end
/// each, neither knows when the other started; so the time of each stops at the first plug-in until the cable has
/// its other end, and from there on both count the same time.
///
/// ```
///   both ends   0 ──────── plug-in ─────────────────── last step ── tail ── over
///   one end     0 ──────── plug-in ‖ waits ‖ release ─ last step ── tail ── over
/// ```
package final class ScenarioTimeline {
  /// Whether every step was played and the time after the last one has passed.
  package private(set) var isOver = false
  /// The instant that counts as 0.
  private(set) var beginning: Instant

  private let scenario: Scenario
  private let loop: any EventLoop
  private let perform: (WorldAction) -> Void
  private var timers: [LoopTimer] = []
  /// How many steps are played before the time stops; nil when it does not stop, or has continued.
  private var held: Int?

  /// A timeline that has not started. With `holds` it stops at the first plug-in.
  package init(
    _ scenario: Scenario, holds: Bool, on loop: any EventLoop, perform: @escaping (WorldAction) -> Void
  ) {
    self.scenario = scenario
    self.loop = loop
    self.perform = perform
    beginning = loop.now
    guard holds, let first = scenario.firstPlugIn else { return }
    held = first + 1
  }

  /// Begins.
  package func start() {
    beginning = loop.now
    arm(scenario.steps.prefix(held ?? scenario.steps.count))
    if held == nil { armEnd() }
  }

  /// The cable has its other end: time continues. Later cables change nothing.
  func release() {
    guard let held else { return }
    self.held = nil
    beginning = loop.now + (.zero - scenario.steps[held - 1].at)
    arm(scenario.steps.dropFirst(held))
    armEnd()
  }

  /// Plays nothing more.
  package func cancel() {
    for timer in timers { timer.cancel() }
    timers = []
  }

  private func arm(_ steps: some Sequence<Scenario.Step>) {
    for step in steps {
      arm(at: step.at) { [weak self] in self?.perform(step.action) }
    }
  }

  private func armEnd() {
    arm(at: (scenario.steps.last?.at ?? .zero) + scenario.tail) { [weak self] in self?.isOver = true }
  }

  private func arm(at time: Duration, _ work: @escaping () -> Void) {
    let timer = loop.makeTimer(work)
    timer.arm(at: beginning + time)
    timers.append(timer)
  }
}

extension Scenario {
  /// The first step that plugs an accessory in.
  fileprivate var firstPlugIn: Int? {
    steps.firstIndex { step in
      if case .accessory(.plugIn, _) = step.action { return true }
      return false
    }
  }
}
