import AccessoryCore
import AccessoryFormats
import AccessoryRuns
import IAP2

package struct CheckReport: Sendable, Equatable {
  package struct Accessory: Equatable, Sendable {
    package var name = "", manufacturer = "", model = "", serial = "", firmware = "", hardware = ""
    package var protocols: [String] = []
  }

  package enum Ending: Equatable, Sendable {
    case complete
    case stopped(by: String)
    case gone(String)
  }

  /// The name and version of the program, or an empty string if unknown.
  package var program = ""
  /// The case numbers of all cases that the whole run should include.
  package var planned: [Int] = []
  package var shards = ShardSet.whole
  package var place: String
  /// The accessory's identification, or nil if the accessory never identified itself.
  package var accessory: Accessory?
  package var results: [CheckResult] = []
  package var time = Duration.zero
  package var attachments = 0
  package var hostile: HostileReport?
  /// The step that the device took first (authentication or identification), or nil if unknown.
  package var order: DevicePeer.Settings.Order?
  package var ending = Ending.complete
  package var allowsEmpty = false
  /// The changes since an earlier run. easim does not read these changes back from report files.
  package var comparison: CheckComparison?

  init(place: String) { self.place = place }

  /// All rules that were broken, whatever their severity, each with its failure.
  package var failures: [(rule: CheckCase, failure: CheckFailure)] {
    results.compactMap { if case .failed(let failure) = $0.outcome { ($0.rule, failure) } else { nil } }
  }

  package var counts: (passed: Int, failed: Int, warnings: Int, notes: Int, skipped: Int) {
    func count(_ word: CheckResult.Word) -> Int { results.count { $0.word == word } }
    return (count(.passed), count(.failed), count(.warning), count(.note), count(.skipped))
  }

  var isEmpty: Bool { results.allSatisfy(\.outcome.isSkipped) && hostile?.attacks ?? 0 == 0 }

  /// A line such as "61 passed, 2 failed, 1 warning, 3 notes, 20 skipped".
  package var summary: String {
    let counts = counts
    let lesser = [
      counts.warnings > 0 ? counts.warnings.counted("warning") : nil,
      counts.notes > 0 ? counts.notes.counted("note") : nil,
    ].compactMap(\.self)
    return (["\(counts.passed) passed", "\(counts.failed) failed"] + lesser + ["\(counts.skipped) skipped"])
      .joined(separator: ", ") + (shards.text.isEmpty ? "" : " (\(shards.text))")
  }
}

extension DevicePeer.Settings.Order {
  var text: String {
    switch self {
    case .authenticationFirst: "authentication first, then identification"
    case .identificationFirst: "identification first, then authentication"
    }
  }
}

// MARK: - As text

extension CheckCase {
  package var line: String {
    let hostile = isHostile ? " (--hostile)" : ""
    return
      "\(isOwn ? name : "\(number)  \(name)"): \(sentence) [\(sourcesText)]\(hostile)"
  }

  package var json: JSONObject {
    [
      "number": number, "name": name, "group": group.title, "sentence": sentence, "sources": sources.map(\.rawValue),
      "severity": severity.rawValue, "hostile": isHostile, "fix": fix,
    ]
  }
}

extension CheckResult {
  package var text: String {
    switch outcome {
    case .passed: return "passed   \(rule.label)  \(rule.sentence)"
    case .skipped(let reason): return "skipped  \(rule.label)  \(rule.sentence)\n         \(reason.singleLine)"
    case .failed(let failure):
      let packets = failure.proof.map { $0.line.indented(by: 9) }
      return
        (["\(label)\(rule.label)  \(rule.sentence)", "         \(failure.text.singleLine)"]
        + ["         change: \(rule.fix) (\(rule.severity.rawValue); \(rule.sourcesText))"] + packets).joined(
          separator: "\n")
    }
  }

  private var label: String { (word == .failed ? "FAILED" : word.rawValue).padded(to: 9) }
}

extension CheckReport {
  package var text: String { (results.map(\.text) + [endOfList]).joined(separator: "\n") }

  package var endOfList: String {
    var lines: [String] = []
    if let accessory {
      lines.append(
        "\(accessory.name.singleLine) (\(accessory.manufacturer.singleLine) \(accessory.model.singleLine), "
          + "firmware \(accessory.firmware.singleLine)) at \(place)")
    } else {
      lines.append("the accessory at \(place)")
    }
    lines.append("\(summary), in \(attachments) attachment\(attachments == 1 ? "" : "s") and \(Self.seconds(time)) s")
    if case .stopped = ending, let unfinished {
      lines.append(unfinished)
    } else if !results.contains(where: \.fails), let reason = verdict.reasons.first {
      lines.append("\(verdict.word): \(reason.singleLine)")
    }
    if let order, order != .authenticationFirst { lines.append("order: \(order.text)") }
    for (word, title) in [(CheckResult.Word.failed, "failed"), (.warning, "warnings"), (.note, "notes")] {
      let rules = results.filter { $0.word == word }.map(\.rule.title)
      if !rules.isEmpty { lines.append("\(title): \(rules.joined(separator: ", "))") }
    }
    if let hostile {
      lines.append(hostile.summary)
      for failure in hostile.failures {
        lines.append("  --seed \(failure.seed) --attacks 1: \(failure.text.singleLine)")
        lines += failure.steps.map { "    \($0)" }
        lines.append("    \(Hex.excerpt(failure.bytes, limit: 64))")
      }
    }
    let baseline = comparison?.firmware.map { "the baseline of firmware \($0.singleLine)" } ?? "the baseline"
    lines += (comparison?.lines ?? []).map { "since \(baseline): \($0)" }
    return lines.joined(separator: "\n")
  }
}

extension String {
  /// The text as a single line without control characters. The accessory chose the text, so the text cannot be trusted.
  fileprivate var singleLine: String { spelledOut(keeping: []) }

  fileprivate func indented(by count: Int) -> String {
    let margin = String(repeating: " ", count: count)
    return split(separator: "\n", omittingEmptySubsequences: false).map {
      margin + $0.description.spelledOut(keeping: [])
    }
    .joined(separator: "\n")
  }
}

package enum CheckPage {
  /// One table for each group of cases, with each case's number, name, rule, sources and severity.
  package static var tables: String {
    CheckGroup.allCases.filter { $0 != .own }.map { group in
      let rows = CheckCase.all.filter { $0.group == group }.map { rule in
        let hostile = rule.isHostile ? " Only with `--hostile`." : ""
        return
          "| \(rule.number) | `\(rule.name)` | \(rule.sentence)\(hostile) | \(rule.sourcesText) | \(rule.severity.rawValue) |"
      }
      return """
        ### \(group.title)

        | case | name | rule | known from | severity |
        |---|---|---|---|---|
        \(rows.joined(separator: "\n"))
        """
    }.joined(separator: "\n\n")
  }
}

// MARK: - As test cases and as a page

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

  private static func explanation(_ rule: CheckCase, _ failure: CheckFailure) -> String {
    let packets = failure.proof.map {
      "<p>\(seconds($0.time)) s, \($0.direction.rawValue): \(MarkupText.escaped($0.text))</p><pre>\($0.markedHTML)</pre>"
    }
    return "<p><b>Change:</b> \(MarkupText.escaped(rule.fix)) (\(rule.severity.rawValue); known from "
      + "\(MarkupText.escaped(rule.sourcesText)))</p>" + packets.joined()
  }

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
