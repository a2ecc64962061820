import AccessoryCore

extension CheckReport {
  /// The report as JUnit XML, which CI servers show: a test case for each case. Warnings and notes are failures, too, as
  /// the exit code has it.
  public var junit: String {
    var cases = results.map { result -> JUnitSuite.Case in
      let name = "\(result.rule.number) \(result.rule.name): \(result.rule.sentence)"
      let outcome: JUnitSuite.Case.Outcome =
        switch result.outcome {
        case .held: .passed
        case .skipped(let reason): .skipped(reason)
        case .finding(let finding):
          .failed(
            finding.text, kind: result.rule.severity.rawValue,
            details: ([result.rule.fix] + finding.proof.map(\.line)).joined(separator: "\n"))
        }
      return JUnitSuite.Case("check.\(result.rule.group.title)", name, time: result.time, outcome)
    }
    if let hostile {
      let failure = hostile.failures.isEmpty ? nil : hostile.summary
      cases.append(JUnitSuite.Case("check", "hostile attacks", failure: failure))
    }
    if let shortfall = unfinished ?? shards.gap {
      cases.append(JUnitSuite.Case("check", "every case was tried", .failed(shortfall)))
    } else if isEmpty {
      cases.append(JUnitSuite.Case("check", "cases", allowsEmpty ? .skipped(nothing) : .failed(nothing)))
    }
    return JUnitSuite("easim check \(place)", time: time, cases).xml
  }

  /// Seconds with three places.
  static func seconds(_ time: Duration) -> String { JUnitSuite.seconds(time) }
}

extension CheckProof {
  /// One line: the time, who sent it, what it is, and its bytes with those in question in brackets.
  public var line: String {
    "\(CheckReport.seconds(time)) s \(direction.rawValue): \(text)\n    \(markedBytes)"
  }

  /// The bytes in hex; those in question in brackets.
  public var markedBytes: String {
    var parts: [String] = []
    for (index, byte) in bytes.enumerated() {
      let opens = marks.contains { $0.lowerBound == index } ? "[" : ""
      let closes = marks.contains { $0.upperBound == index + 1 } ? "]" : ""
      parts.append(opens + Hex.number(byte) + closes)
    }
    let rest = length > bytes.count ? " … (\(length) bytes)" : ""
    return parts.joined(separator: " ") + rest
  }
}
