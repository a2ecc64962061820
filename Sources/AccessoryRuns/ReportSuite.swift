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

extension ReportCase {
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
