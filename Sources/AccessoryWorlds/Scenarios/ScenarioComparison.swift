import AccessoryCore
import AccessorySessions

/// Holds what apps saw against what a scenario expects; the first difference is what a person needs to know.
public struct ScenarioComparison: Equatable, Sendable {
  /// Where and how what happened differs from what was expected.
  public struct Difference: Equatable, Sendable, CustomStringConvertible {
    /// Which expectation, from 0; as many as there are when more happened than was expected.
    public var index: Int
    /// What was expected; nil for nothing more.
    public var expected: String?
    /// What happened; nil for nothing more.
    public var happened: String?

    /// A sentence.
    public var description: String {
      switch (expected, happened) {
      case (let expected?, let happened?): "expectation \(index + 1): expected \(expected), but \(happened) happened"
      case (let expected?, nil): "expectation \(index + 1): expected \(expected), but nothing more happened"
      case (nil, let happened?): "nothing more was expected, but \(happened) happened"
      case (nil, nil): "no difference"
      }
    }
  }

  /// The first difference; nil when everything came as expected.
  public let difference: Difference?

  /// Compares the app's events with the expectations, one by one. `names` are the accessories' names by serial number.
  public init(_ events: [TimelineEvent], with expectations: [Scenario.Expectation], names: [String: String]) {
    let seen = events.filter { $0.side == .device && Scenario.expectedEvents.contains($0.kind.name) }
    for index in 0..<max(seen.count, expectations.count) {
      let expectation = index < expectations.count ? expectations[index] : nil
      let event = index < seen.count ? seen[index] : nil
      if let expectation, let event, expectation.matches(event, names) { continue }
      difference = Difference(
        index: index, expected: expectation?.description, happened: event.map { Self.text($0, names) })
      return
    }
    difference = nil
  }

  private static func text(_ event: TimelineEvent, _ names: [String: String]) -> String {
    var parts = ["'\(event.kind.name)'"]
    if let subject = event.subject {
      parts.append("of \(names[subject.serial] ?? subject.serial)")
      parts.append("with \(Scenario.Expectation.text(subject.protocols))")
    }
    parts.append("at \(event.time.secondsText) s")
    return parts.joined(separator: " ")
  }
}

extension Scenario.Expectation {
  func matches(_ event: TimelineEvent, _ names: [String: String]) -> Bool {
    guard event.kind.name == self.event else { return false }
    if let accessory, event.subject.flatMap({ names[$0.serial] }) != accessory { return false }
    if let protocols, event.subject?.protocols != protocols { return false }
    let time = event.time - .origin
    if let after, time < after { return false }
    if let before, time > before { return false }
    return true
  }

  static func text(_ protocols: [String]) -> String {
    protocols.isEmpty ? "no protocols" : protocols.joined(separator: ", ")
  }
}

extension Scenario.Expectation: CustomStringConvertible {
  /// "'connect' of glasses with no protocols, before 2s".
  public var description: String {
    var text = "'\(event)'"
    if let accessory { text += " of \(accessory)" }
    if let protocols { text += " with \(Self.text(protocols))" }
    if let after { text += ", not before \(DurationText.format(after))" }
    if let before { text += ", not after \(DurationText.format(before))" }
    return text
  }
}
