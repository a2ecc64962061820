import AccessoryCore

/// When the steps of a scenario are due.
///
/// Where one process plays both ends, the time of a scenario begins when it is started. Where two processes play one
/// end each, neither knows when the other began; so the time of each stands still at the first plug-in until the cable
/// has its other end, and from there on both count the same.
///
/// ```
///   both ends   0 ──────── plug-in ─────────────────── last step ── tail ── over
///   one end     0 ──────── plug-in ‖ waits ‖ release ─ last step ── tail ── over
/// ```
package final class ScenarioTimeline {
  /// Whether everything was played and the time after it has passed.
  package private(set) var isOver = false
  /// The instant that counts as 0.
  private(set) var beginning: Instant

  private let scenario: Scenario
  private let loop: any EventLoop
  private let perform: (Scenario.Action) -> Void
  private var timers: [LoopTimer] = []
  /// How many steps are played before the time stands still; nil once it no longer does, or never did.
  private var held: Int?

  /// A timeline that has not begun. With `holds` it stands still at the first plug-in.
  package init(
    _ scenario: Scenario, holds: Bool, on loop: any EventLoop, perform: @escaping (Scenario.Action) -> Void
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

  /// The cable has its other end: time goes on. Later cables change nothing.
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
      if case .accessoryPlugsIn = step.action { return true }
      return false
    }
  }
}
