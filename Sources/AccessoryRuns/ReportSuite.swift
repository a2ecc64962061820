import AccessoryFormats

/// One of a run's checks.
public struct ReportCase: Equatable, Sendable {
  /// The outcome of the check.
  public enum Outcome: Equatable, Sendable {
    case passed
    /// The check could not be evaluated, for the given reason.
    case skipped(String)
    /// The check failed. The values are a sentence, a word for the kind of failure, and details that
    /// are shown below the sentence.
    case failed(String, kind: String? = nil, details: String = "")
  }

  let group: String
  let name: String
  let time: Duration
  let outcome: Outcome
  /// What a page shows for a check that has passed.
  let note: String
  /// HTML that a page shows below the check.
  let more: String
  /// The check's name in a trace of the run, or nil if the check is not in the trace.
  let traced: String?

  /// Creates a check. `group` with the prefix "easim." becomes the JUnit class name.
  public init(
    _ group: String, _ name: String, time: Duration = .zero, _ outcome: Outcome, note: String = "", more: String = "",
    traced: String? = nil
  ) {
    (self.group, self.name, self.time, self.outcome) = (group, name, time, outcome)
    (self.note, self.more, self.traced) = (note, more, traced)
  }

  /// The part of the run that the check belongs to, such as "loss" for the group "check.loss".
  var part: String { group.split(separator: ".", maxSplits: 1).dropFirst().first.map(String.init) ?? "" }

  /// How pages show the outcome: its position among the outcomes, its word, and its symbol.
  var sign: (index: Int, word: String, sign: String) {
    switch outcome {
    case .passed: (0, "passed", "✓")
    case .failed: (1, "failed", "✗")
    case .skipped: (2, "skipped", "–")
    }
  }

  var isFailed: Bool { if case .failed = outcome { true } else { false } }

  fileprivate var xml: String {
    let open =
      "    <testcase classname=\"easim.\(MarkupText.escaped(group))\" name=\"\(MarkupText.escaped(name))\" "
      + "time=\"\(ReportSuite.seconds(time))\""
    switch outcome {
    case .passed: return "\(open)/>"
    case .skipped(let reason):
      return "\(open)>\n      <skipped message=\"\(MarkupText.escaped(reason))\"/>\n    </testcase>"
    case .failed(let message, let kind, let details):
      let type = kind.map { " type=\"\(MarkupText.escaped($0))\"" } ?? ""
      let failure = "\(open)>\n      <failure\(type) message=\"\(MarkupText.escaped(message))\""
      return details.isEmpty
        ? "\(failure)/>\n    </testcase>" : "\(failure)>\(MarkupText.escaped(details))</failure>\n    </testcase>"
    }
  }
}

/// A run's checks. The suite can be written as JUnit XML for CI servers.
public struct ReportSuite: WritableReport {
  /// The only format, JUnit XML.
  public static let forms = [ReportForm.xml]

  private let name: String
  private let time: Duration
  private let output: String?
  let cases: [ReportCase]

  /// Creates a suite of checks. `output` is the text that the run printed.
  public init(_ name: String, time: Duration, _ cases: [ReportCase], output: String? = nil) {
    (self.name, self.time, self.cases, self.output) = (name, time, cases, output)
  }

  /// Returns the contents of the file.
  public func text(as form: ReportForm) -> String { xml }

  /// The suite as JUnit XML.
  public var xml: String {
    let failures = cases.count(where: \.isFailed)
    let skipped = cases.count { if case .skipped = $0.outcome { true } else { false } }
    let counts = "tests=\"\(cases.count)\" failures=\"\(failures)\" errors=\"0\" skipped=\"\(skipped)\""
    let out = output.map { "\n    <system-out>\(MarkupText.escaped($0))</system-out>" } ?? ""
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <testsuites \(counts)>
        <testsuite name="\(MarkupText.escaped(name))" \(counts) time="\(Self.seconds(time))">
      \(cases.map(\.xml).joined(separator: "\n"))\(out)
        </testsuite>
      </testsuites>

      """
  }

  /// Returns a time in seconds with three decimal places.
  public static func seconds(_ time: Duration) -> String {
    let milliseconds = max(0, time.wholeNanoseconds) / 1_000_000
    return "\(milliseconds / 1_000).\("\(milliseconds % 1_000)".zeroPadded(to: 3))"
  }
}

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
