import AccessoryCore
import AccessoryFormats

extension CheckCase {
  package var line: String {
    let hostile = isHostile ? " (--hostile)" : ""
    return
      "\(isOwn ? name : "\(number)  \(name)"): \(sentence) [\(sources.map(\.description).joined(separator: ", "))]\(hostile)"
  }

  package var json: JSONObject {
    [
      "number": number, "name": name, "group": group.title, "sentence": sentence, "sources": sources.map(\.description),
      "severity": severity.rawValue, "hostile": isHostile, "fix": fix,
    ]
  }
}

extension CheckResult {
  /// The result as text. The line with the outcome is followed by advice and by the packets that prove the failure, if
  /// any.
  package var text: String {
    switch outcome {
    case .passed: return "passed   \(rule.label)  \(rule.sentence)"
    case .skipped(let reason): return "skipped  \(rule.label)  \(rule.sentence)\n         \(reason.singleLine)"
    case .failed(let failure):
      let packets = failure.proof.map { $0.line.indented(by: 9) }
      return
        (["\(label)\(rule.label)  \(rule.sentence)", "         \(failure.text.singleLine)"]
        + ["         change: \(rule.fix) (\(rule.severity.rawValue); \(sourcesText))"] + packets).joined(
          separator: "\n")
    }
  }

  /// The outcome, padded so that all outcomes have the same width.
  private var label: String {
    switch word {
    case .warning: "warning  "
    case .note: "note     "
    case .passed, .failed, .skipped: "FAILED   "
    }
  }

  private var sourcesText: String { rule.sources.map(\.description).joined(separator: ", ") }
}

extension CheckReport {
  package var text: String { (results.map(\.text) + [endOfList]).joined(separator: "\n") }

  /// The summary that follows the list of results: what was checked, and the counts.
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

/// Generates the tables of cases in docs/check.md.
package enum CheckPage {
  /// One table for each group of cases, with each case's number, name, rule, sources and severity.
  package static var tables: String {
    CheckGroup.allCases.filter { $0 != .own }.map { group in
      let rows = CheckCase.all.filter { $0.group == group }.map { rule in
        let sources = rule.sources.map(\.description).joined(separator: ", ")
        let hostile = rule.isHostile ? " Only with `--hostile`." : ""
        return
          "| \(rule.number) | `\(rule.name)` | \(rule.sentence)\(hostile) | \(sources) | \(rule.severity.rawValue) |"
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
