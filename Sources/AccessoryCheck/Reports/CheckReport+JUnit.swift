import AccessoryCore

extension CheckReport {
  /// The report as JUnit XML, which CI servers show: a test case for each case. Warnings and notes are failures, too, as
  /// the exit code has it.
  public var junit: String {
    let counts = counts
    let cases = results.map { result in
      let name = MarkupText.escaped("\(result.rule.number) \(result.rule.name): \(result.rule.sentence)")
      let group = MarkupText.escaped(result.rule.group.title)
      let open =
        "    <testcase classname=\"easim.check.\(group)\" name=\"\(name)\" time=\"\(Self.seconds(result.time))\""
      switch result.outcome {
      case .held: return "\(open)/>"
      case .skipped(let reason):
        return "\(open)>\n      <skipped message=\"\(MarkupText.escaped(reason))\"/>\n    </testcase>"
      case .finding(let finding):
        let text = MarkupText.escaped(([result.rule.fix] + finding.proof.map(\.line)).joined(separator: "\n"))
        return "\(open)>\n      <failure type=\"\(result.rule.severity.rawValue)\" "
          + "message=\"\(MarkupText.escaped(finding.text))\">\(text)</failure>\n    </testcase>"
      }
    }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <testsuites tests="\(results.count)" failures="\(counts.findings)" skipped="\(counts.skipped)">
        <testsuite name="easim check \(MarkupText.escaped(place))" tests="\(results.count)" \
      failures="\(counts.findings)" errors="0" skipped="\(counts.skipped)" time="\(Self.seconds(time))">
      \(cases.joined(separator: "\n"))
        </testsuite>
      </testsuites>

      """
  }

  /// Seconds with three places.
  static func seconds(_ time: Duration) -> String {
    let milliseconds = time.wholeNanoseconds / 1_000_000
    let rest = String(milliseconds % 1_000)
    return "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
  }
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
