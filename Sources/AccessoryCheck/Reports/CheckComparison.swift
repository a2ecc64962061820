import AccessoryCore

/// What is new since an earlier run.
public struct CheckComparison: Sendable, Equatable {
  /// Cases that are findings now and were not.
  public var broken: [Int] = []
  /// Cases that were findings and hold now.
  public var repaired: [Int] = []
  /// Cases that were findings and could not be judged now.
  public var unjudged: [Int] = []
  /// Cases that are findings in both runs.
  public var known: [Int] = []

  /// Compares a report with an earlier one.
  public init(_ report: CheckReport, since earlier: CheckBaseline) {
    for result in report.results {
      let number = result.rule.number
      let was = earlier.findings.contains(number)
      switch result.outcome {
      case .finding: if was { known.append(number) } else { broken.append(number) }
      case .held: if was { repaired.append(number) }
      case .skipped: if was { unjudged.append(number) }
      }
    }
  }

  /// A line for each change.
  public var lines: [String] {
    [("new", broken), ("repaired", repaired), ("not judged this time", unjudged), ("as before", known)].compactMap {
      $0.1.isEmpty ? nil : "\($0.0): \($0.1.map { number in Self.name(number) }.joined(separator: ", "))"
    }
  }

  private static func name(_ number: Int) -> String {
    "\(number)" + (CheckCase.all.first { $0.number == number }.map { " \($0.name)" } ?? "")
  }
}

/// What a report that was written found.
public struct CheckBaseline: Sendable, Equatable {
  /// The numbers of its findings.
  public let findings: Set<Int>
  private static let limits = JSON5.Limits(bytes: 64 << 20, depth: 16)

  /// Reads a report that ``CheckReport/json`` wrote.
  ///
  /// - Throws: `SourceProblem`, with the place and what is wrong there.
  public init(json bytes: [UInt8], file: String) throws(SourceProblem) {
    let value = try JSON5.read(bytes, file: file, limits: Self.limits)
    func problem(_ value: JSON5Value, _ text: String) -> SourceProblem { SourceProblem(at: value.position, text) }
    guard case .text("check report")? = value["easim"]?.content else {
      throw problem(value, "this is no check report of easim")
    }
    guard case .number(let version)? = value["version"]?.content, version.integer == Int64(CheckReport.version) else {
      throw problem(value, "the report is of another version than \(CheckReport.version), which this easim reads")
    }
    guard case .array(let cases)? = value["cases"]?.content else { throw problem(value, "'cases' is missing") }
    var findings: Set<Int> = []
    for one in cases {
      guard case .number(let number)? = one["number"]?.content, let number = number.integer,
        case .text(let result)? = one["result"]?.content
      else { throw problem(one, "expected a case with 'number' and 'result'") }
      if result == "finding" { findings.insert(Int(number)) }
    }
    self.findings = findings
  }
}
