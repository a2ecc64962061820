/// How a scenario came out: it passed when the app's events are those expected and the app has a working session at the end.
public struct ScenarioVerdict: Equatable, Sendable {
  /// Whether all is as expected.
  public let passed: Bool
  /// The first difference, if any, and how the app fared.
  public let text: String

  /// The verdict on an app that has finished.
  public init(_ comparison: ScenarioComparison, _ client: ScenarioClient) {
    let report = client.report
    passed = comparison.difference == nil && report.isServing
    text = comparison.difference.map { "\($0); \(report.text)" } ?? report.text
  }
}

extension ScenarioPlayer {
  /// The verdict on the app as it is now. Take it before ``tearDown()``, which ends the sessions.
  public var verdict: ScenarioVerdict { ScenarioVerdict(comparison, client) }
}
