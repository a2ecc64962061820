import AccessoryCore

/// Performs the steps of a scenario when they are due.
///
/// If two processes each handle one side of a scenario, neither knows when the other one started. Each process
/// therefore pauses its clock at the first plug-in until the other end of the cable exists. From then on, both clocks
/// agree.
///
/// ```
///   both ends   0 ──────── plug-in ─────────────────── last step ── tail ── over
///   one end     0 ──────── plug-in ‖ waits ‖ release ─ last step ── tail ── over
/// ```
package final class ScenarioTimeline {
  /// Whether all steps have been performed and the wait after the last step is over.
  package private(set) var isOver = false
  /// The zero point of the scenario's timeline.
  package private(set) var beginning: Instant

  private let scenario: Scenario
  private let loop: any EventLoop
  private let perform: (WorldAction) -> Void
  private var timers: [LoopTimer] = []
  /// How many steps are performed before the clock pauses, or nil if the clock never pauses or has resumed.
  private var held: Int?

  /// Creates a timeline without starting it. If `holds` is set, the clock pauses at the first plug-in.
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

  package func start() {
    beginning = loop.now
    arm(scenario.steps.prefix(held ?? scenario.steps.count))
    if held == nil { armEnd() }
  }

  /// Resumes the clock once the other end of the cable exists. Calling this method again has no effect.
  package func release() {
    guard let held else { return }
    self.held = nil
    beginning = loop.now + (.zero - scenario.steps[held - 1].at)
    arm(scenario.steps.dropFirst(held))
    armEnd()
  }

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
  fileprivate var firstPlugIn: Int? {
    steps.firstIndex { step in
      if case .accessory(.plugIn, _) = step.action { return true }
      return false
    }
  }
}
