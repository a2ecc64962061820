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

extension Scenario.Expectation {
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
}

extension Scenario.Expectation: CustomStringConvertible {
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
