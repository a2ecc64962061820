import AccessoryCore
import AccessoryFormats
import AccessoryRuns

extension CheckReport {
  /// The test cases as they appear in a generic report. If a rule is broken but does not make the check fail, its test
  /// case counts as passed, but the findings are still listed.
  package var suite: ReportSuite {
    var cases = results.map { result -> ReportCase in
      let rule = result.rule
      let name = "\(rule.title): \(rule.sentence)"
      let (group, traced) = ("check.\(rule.group.title)", "\(rule.label)  \(rule.sentence)")
      switch result.outcome {
      case .passed: return ReportCase(group, name, time: result.time, .passed, traced: traced)
      case .skipped(let reason): return ReportCase(group, name, time: result.time, .skipped(reason))
      case .failed(let failure) where !result.fails:
        return ReportCase(
          group, name, time: result.time, .passed, note: "\(result.word.rawValue): \(failure.text)",
          more: Self.explanation(rule, failure), traced: traced)
      case .failed(let failure):
        return ReportCase(
          group, name, time: result.time,
          .failed(
            failure.text, kind: rule.severity.rawValue,
            details: ([rule.fix] + failure.proof.map(\.line)).joined(separator: "\n")),
          more: Self.explanation(rule, failure), traced: traced)
      }
    }
    if let hostile {
      let lines = hostile.failures.map {
        "seed \($0.seed): \($0.text)\n\(($0.steps + [Hex.spaced($0.bytes)]).joined(separator: "\n"))"
      }
      let more = lines.isEmpty ? "" : "<pre>\(MarkupText.escaped(lines.joined(separator: "\n\n")))</pre>"
      cases.append(
        ReportCase(
          "check", "hostile attacks", lines.isEmpty ? .passed : .failed(hostile.summary), note: hostile.summary,
          more: more))
    }
    return ReportSuite(
      "easim check \(place)", time: time,
      cases + completeness("check", all: "every case was tried", some: "cases", nothing: isEmpty ? nothing : nil))
  }

  /// Returns advice and the packets that prove the failure, as HTML.
  private static func explanation(_ rule: CheckCase, _ failure: CheckFailure) -> String {
    let packets = failure.proof.map {
      "<p>\(seconds($0.time)) s, \($0.direction.rawValue): \(MarkupText.escaped($0.text))</p><pre>\($0.markedHTML)</pre>"
    }
    let sources = rule.sources.map(\.description).joined(separator: ", ")
    return "<p><b>Change:</b> \(MarkupText.escaped(rule.fix)) (\(rule.severity.rawValue); known from "
      + "\(MarkupText.escaped(sources)))</p>" + packets.joined()
  }

  /// Compares the report with the report of an earlier run. After this call, the outcome ignores failures that also
  /// occurred in the earlier run.
  package mutating func compare(with earlier: CheckReport, tolerance: Double) -> Bool {
    comparison = CheckComparison(self, since: earlier)
    return true
  }

  package var title: String {
    "easim check: " + (accessory.map { "\($0.name) (\($0.manufacturer) \($0.model))" } ?? place)
  }

  package var headline: String { summary }

  package var figures: [ReportFigure] {
    [
      ReportFigure("passed", counts.passed, moreIsBetter: true),
      ReportFigure("failed", counts.failed, moreIsBetter: false),
      ReportFigure("warnings", counts.warnings, moreIsBetter: false),
      ReportFigure("notes", counts.notes, moreIsBetter: false, isMain: false),
      ReportFigure("skipped", counts.skipped, moreIsBetter: false),
      ReportFigure("attachments", attachments, isMain: false),
    ]
  }

  package var sections: [PageSection] {
    var rows = [("address", place)]
    if let accessory {
      rows += [
        ("serial number", accessory.serial), ("firmware, hardware", "\(accessory.firmware), \(accessory.hardware)"),
        ("protocols", accessory.protocols.joined(separator: ", ")),
      ]
    }
    if let order { rows.append(("order", order.text)) }
    rows += [("time", "\(Self.seconds(time)) s"), ("ending", ending.text)]
    let changes = comparison.map { $0.lines.isEmpty ? ["nothing changed"] : $0.lines }
    return [
      PageSection(
        "Since the last run",
        changes.map { "<ul>\($0.map { "<li>\(MarkupText.escaped($0))</li>" }.joined())</ul>" }),
      PageSection("The accessory", PageTable.facts(rows)),
    ].compactMap(\.self)
  }

  static func seconds(_ time: Duration) -> String { ReportSuite.seconds(time) }
}

extension CheckProof {
  /// The proof as a single line: time, sender, description, and bytes, with brackets around the offending bytes.
  package var line: String {
    "\(CheckReport.seconds(time)) s \(direction.rawValue): \(text)\n    \(markedBytes)"
  }

  /// The bytes in hex, with brackets around the offending bytes.
  package var markedBytes: String { marked("[", "]") }

  fileprivate var markedHTML: String { marked("<mark>", "</mark>") }

  private func marked(_ begin: String, _ end: String) -> String {
    let parts = bytes.enumerated().map { index, byte in
      let opens = marks.contains { $0.lowerBound == index } ? begin : ""
      let closes = marks.contains { $0.upperBound == index + 1 } ? end : ""
      return opens + Hex.number(byte) + closes
    }
    return parts.joined(separator: " ") + (length > bytes.count ? " … (\(length) bytes)" : "")
  }
}
