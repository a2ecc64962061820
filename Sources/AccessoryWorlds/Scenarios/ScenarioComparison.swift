import AccessoryCore
import AccessoryFormats
import AccessorySessions

/// A comparison of the events that an app saw with the events that a scenario expects.
public struct ScenarioComparison: Equatable, Sendable {
  /// A difference between the actual and the expected events.
  public struct Difference: Equatable, Sendable, CustomStringConvertible {
    /// The difference as a sentence.
    public let description: String
    /// When the difference occurred, or nil if an event is missing at the end.
    public let time: Instant?

  }

  /// The first difference, or nil if everything was as expected.
  public let difference: Difference?

  /// Compares, one by one, the events that the app saw with the events that the scenario expects.
  ///
  /// - Parameters:
  ///   - beginning: the time at which the scenario began.
  ///   - surprises: differences between the app's list of accessories and the lists that the steps expect.
  ///   - inRealTime: whether the times of events may deviate from the scenario. In virtual time, all times are exact.
  package init(
    _ events: [TimelineEvent], with scenario: Scenario, since beginning: Instant, surprises: [Difference] = [],
    inRealTime: Bool = false
  ) {
    let seen = events.filter(Scenario.isExpected)
    let names = scenario.namesBySerial
    var found: Difference?
    for index in 0..<max(seen.count, scenario.expectations.count) {
      let expectation = index < scenario.expectations.count ? scenario.expectations[index] : nil
      let event = index < seen.count ? seen[index] : nil
      if let expectation, let event, expectation.matches(event, names, beginning, inRealTime) { continue }
      let expected = expectation.map { "expectation \(index + 1): expected \($0)" } ?? "nothing more was expected"
      let happened = event.map { Self.text($0, names, beginning) } ?? "nothing more"
      found = Difference(description: "\(expected), but \(happened) happened", time: event?.time)
      break
    }
    // An event that is missing at the end counts as later than all other events.
    difference = ([found].compactMap(\.self) + surprises).min {
      ($0.time ?? .distantFuture) < ($1.time ?? .distantFuture)
    }
  }

  private static func text(_ event: TimelineEvent, _ names: [String: String], _ beginning: Instant) -> String {
    var parts = ["'\(event.kind.name)'"]
    if let subject = event.subject {
      parts.append("of \(names[subject.serial] ?? subject.serial)")
      parts.append("with \(Scenario.Expectation.text(subject.protocols))")
    }
    parts.append("at \((Instant.origin + (event.time - beginning)).secondsText) s")
    return parts.joined(separator: " ")
  }
}

extension Scenario.Expectation: CustomStringConvertible {
  func matches(
    _ event: TimelineEvent, _ names: [String: String], _ beginning: Instant, _ inRealTime: Bool
  ) -> Bool {
    guard event.kind.name == self.event else { return false }
    if let accessory, event.subject.flatMap({ names[$0.serial] }) != accessory { return false }
    if let protocols, event.subject?.protocols != protocols { return false }
    let time = event.time - beginning
    // On a busy machine, the device may notice the cable late and start its clock after the accessory has started its
    // own. Events then appear to happen early.
    if let after, time < after - (inRealTime ? .milliseconds(500) : .zero) { return false }
    if let before, time > before + (inRealTime ? .seconds(2) : .zero) { return false }
    return true
  }

  static func text(_ protocols: [String]) -> String {
    protocols.isEmpty ? "no protocols" : protocols.joined(separator: ", ")
  }

  /// Text such as "'connect' of glasses with no protocols, before 2s".
  public var description: String {
    var text = "'\(event)'"
    if let accessory { text += " of \(accessory)" }
    if let protocols { text += " with \(Self.text(protocols))" }
    if let after { text += ", not before \(DurationText.format(after))" }
    if let before { text += ", not after \(DurationText.format(before))" }
    return text
  }
}

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
  package private(set) var isOver = false
  package private(set) var beginning: Instant

  private let scenario: Scenario
  private let loop: any EventLoop
  private let perform: (WorldAction) -> Void
  private var timers: [LoopTimer] = []
  /// How many steps are performed before the clock pauses, or nil if the clock never pauses or has resumed.
  private var held: Int?

  package init(
    _ scenario: Scenario, holds: Bool, on loop: any EventLoop, perform: @escaping (WorldAction) -> Void
  ) {
    self.scenario = scenario
    self.loop = loop
    self.perform = perform
    beginning = loop.now
    let first = scenario.steps.firstIndex { if case .accessory(.plugIn, _) = $0.action { true } else { false } }
    if holds { held = first.map { $0 + 1 } }
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
