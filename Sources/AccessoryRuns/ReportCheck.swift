import AccessoryFormats

/// A condition that a run must meet, such as a limit on one of its figures.
public struct ReportCheck: Equatable, Sendable {
  /// What is checked, as the user wrote it: "p99>50ms".
  public let name: String
  /// The condition for passing: "p99 ≤ 50 ms".
  public let goal: String
  /// Whether it passed.
  public let passed: Bool
  /// The measured value; if it begins with the goal, the goal is not repeated.
  public let text: String
  let saysGoal: Bool
  /// Why the condition does not hold, if there is an explanation.
  package var cause: String?

  /// A check; if it has no name, `text` begins with the goal.
  package init(name: String? = nil, goal: String, passed: Bool, text: String, cause: String? = nil) {
    (self.name, self.goal, self.passed, self.text, self.cause) = (name ?? goal, goal, passed, text, cause)
    saysGoal = name == nil
  }

  /// The measured value, whether it passes, and the explanation if it does not: "56.8 ms ✗".
  public var result: String { "\(text) \(passed ? "✓" : "✗")\(cause.map { " (\($0))" } ?? "")" }
  /// "p99 ≤ 50 ms: 56.8 ms ✗".
  public var line: String { saysGoal ? result : "\(goal): \(result)" }

  /// As reports write it.
  package static let format = Record("check", "", Self(goal: "", passed: true, text: "")) {
    Field(derived: "name", .text, "what was checked") { $0.name }
    Field(derived: "goal", .text, "what must hold") { $0.goal }
    Field(derived: "passed", .boolean, "whether it passed") { $0.passed }
    Field(derived: "text", .text, "what was measured") { $0.text }
  }
}
