import AccessoryFormats

/// A condition that a run must meet, such as a limit on one of its figures.
public struct ReportCheck: Equatable, Sendable {
  /// The condition as the user wrote it, such as "p99>50ms".
  public let name: String
  /// The condition that must be met to pass, such as "p99 ≤ 50 ms".
  public let goal: String
  /// Whether the check passed.
  public let passed: Bool
  /// The measured value. If the text begins with the goal, the goal is not printed a second time.
  public let text: String
  let saysGoal: Bool
  /// The reason the condition was not met, or nil if the condition was met or the reason is unknown.
  package var cause: String?

  /// Creates a check. If there is no name, `text` must begin with the goal.
  package init(name: String? = nil, goal: String, passed: Bool, text: String, cause: String? = nil) {
    (self.name, self.goal, self.passed, self.text, self.cause) = (name ?? goal, goal, passed, text, cause)
    saysGoal = name == nil
  }

  /// The measured value with a check mark or a cross, such as "56.8 ms ✗", and the cause of a failure if it is known.
  public var result: String { "\(text) \(passed ? "✓" : "✗")\(cause.map { " (\($0))" } ?? "")" }
  /// The check as a single line, such as "p99 ≤ 50 ms: 56.8 ms ✗".
  public var line: String { saysGoal ? result : "\(goal): \(result)" }

  /// Compares the checks that a file contains under `key` with checks computed from the file's other keys. The texts of
  /// checks may differ, because the file may have been written by another version of easim.
  package static func compare(_ checks: [ReportCheck], with object: ObjectReader, under key: String) {
    guard let given = object.value(key), case .array(let stored) = given.content else { return }
    if stored.count != checks.count {
      object.error(key, "has \(stored.count), but the other keys give \(checks.count)")
    }
    for (index, (entry, check)) in zip(stored, checks).enumerated() {
      let place = object.place.key(key).element(index)
      if let name = entry["name"], name.content != .text(check.name) {
        place.key("name").error(name, "is \(name.summary), but the other keys give '\(check.name)'")
      } else if let passed = entry["passed"], passed.content != .boolean(check.passed) {
        place.key("passed").error(passed, "is \(passed.summary), but the other keys give \(check.passed)")
      }
    }
  }

  package static let format = Record("check", "", Self(goal: "", passed: true, text: "")) {
    Field(derived: "name", .text, "what was checked") { $0.name }
    Field(derived: "goal", .text, "what must hold") { $0.goal }
    Field(derived: "passed", .boolean, "whether it passed") { $0.passed }
    Field(derived: "text", .text, "what was measured") { $0.text }
  }
}
