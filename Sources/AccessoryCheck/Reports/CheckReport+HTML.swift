import AccessoryCore

extension CheckReport {
  /// The report as one page that needs nothing else: what to change first, then every case.
  public func html(_ comparison: CheckComparison? = nil) -> String {
    let title = accessory.map { "\($0.name) (\($0.manufacturer) \($0.model))" } ?? place
    let verdict = verdict(since: comparison)
    var body = ["<header><h1>\(MarkupText.escaped(title))</h1>"]
    let reasons = verdict.reasons.map { ": \($0)" }.joined()
    body.append(
      "<p class=\"\(verdict.isPassed ? "held" : "finding")\"><strong>\(verdict.title)</strong>"
        + "\(MarkupText.escaped(reasons))</p>")
    body.append("<p>\(summary)</p>")
    body.append(facts)
    body.append("</header>")
    if let comparison { body.append(Self.section(of: comparison)) }
    let found = results.filter { $0.isFinding }
    if !found.isEmpty {
      body.append("<h2>What to change</h2>")
      body += CheckCase.Severity.allCases.flatMap { severity in
        found.filter { $0.rule.severity == severity }.map(Self.article)
      }
    }
    if let hostile, !hostile.failures.isEmpty { body.append(hostile.html) }
    body.append("<h2>All cases</h2>")
    for group in CheckGroup.allCases {
      let rows = results.filter { $0.rule.group == group }
      if !rows.isEmpty { body.append(Self.table(group, rows)) }
    }
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>easim check: \(MarkupText.escaped(title))</title>
      <style>
      \(Self.style)
      </style>
      </head>
      <body>
      \(body.joined(separator: "\n"))
      </body>
      </html>

      """
  }

  private var facts: String {
    var rows = [("address", place)]
    if let accessory {
      rows += [
        ("serial number", accessory.serial), ("firmware, hardware", "\(accessory.firmware), \(accessory.hardware)"),
        ("protocols", accessory.protocols.joined(separator: ", ")),
      ]
    }
    rows += [("attachments", "\(attachments) in \(Self.seconds(time)) s"), ("ending", ending.text)]
    return "<dl>"
      + rows.map { "<dt>\($0.0)</dt><dd>\(MarkupText.escaped($0.1))</dd>" }.joined() + "</dl>"
  }

  private static func article(_ result: CheckResult) -> String {
    guard case .finding(let finding) = result.outcome else { return "" }
    let rule = result.rule
    let packets = finding.proof.map { proof in
      "<figure><figcaption>\(seconds(proof.time)) s, \(proof.direction.rawValue): \(MarkupText.escaped(proof.text))"
        + "</figcaption><pre>\(proof.markedHTML)</pre></figure>"
    }
    return """
      <article class="\(rule.severity.rawValue)" id="case-\(rule.number)">
      <h3>\(rule.number) \(rule.name) <small>\(rule.severity.rawValue)</small></h3>
      <p>\(MarkupText.escaped(rule.sentence)) <small>(\(rule.sources.map(\.description).joined(separator: ", ")))</small></p>
      <p class="finding">\(MarkupText.escaped(finding.text))</p>
      <p><strong>Change:</strong> \(MarkupText.escaped(rule.fix))</p>
      \(packets.joined(separator: "\n"))
      </article>
      """
  }

  private static func table(_ group: CheckGroup, _ results: [CheckResult]) -> String {
    let rows = results.map { result in
      let (word, more): (String, String) =
        switch result.outcome {
        case .held: ("held", "")
        case .skipped(let reason): ("skipped", reason)
        case .finding(let finding): ("finding", finding.text)
        }
      let number =
        result.isFinding ? "<a href=\"#case-\(result.rule.number)\">\(result.rule.number)</a>" : "\(result.rule.number)"
      let small = more.isEmpty ? "" : "<br><small>\(MarkupText.escaped(more))</small>"
      return "<tr class=\"\(word)\"><td>\(number)</td><td>\(word)</td>"
        + "<td>\(MarkupText.escaped(result.rule.sentence))\(small)</td></tr>"
    }
    return """
      <h3>\(group.title)</h3>
      <div class="wide"><table>
      <tr><th>case</th><th>result</th><th>rule</th></tr>
      \(rows.joined(separator: "\n"))
      </table></div>
      """
  }

  private static func section(of comparison: CheckComparison) -> String {
    let items = comparison.lines.map { "<li>\(MarkupText.escaped($0))</li>" }
    return "<h2>Since the last run</h2>\n"
      + (items.isEmpty ? "<p>Nothing changed.</p>" : "<ul>\n\(items.joined(separator: "\n"))\n</ul>")
  }

  private static let style = """
    :root { color-scheme: light dark; --ink: #222; --paper: #fff; --line: #ccc; --good: #176f2c; --bad: #b3261e;
      --warn: #8a5a00; --mark: #ffd54d; --markink: #000; --soft: #f5f5f5; }
    @media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #16181c; --line: #444; --good: #6fd28a;
      --bad: #ff8a80; --warn: #e0b050; --soft: #22252b; } }
    body { font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2em auto; padding: 0 1em;
      color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
    h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; } h3 { font-size: 1em; margin-bottom: .3em; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em 1em; } dd { margin: 0; }
    .held { color: var(--good); } .finding { color: var(--bad); } .skipped { opacity: .75; }
    article { border-left: 4px solid var(--line); padding: 0 0 0 1em; margin: 1.5em 0; }
    article.error { border-color: var(--bad); } article.warning { border-color: var(--warn); }
    figure { margin: .5em 0; } figcaption { font-size: .85em; }
    pre { margin: 0; padding: .5em; background: var(--soft); white-space: pre-wrap; font: 12px/1.5 ui-monospace, monospace; }
    mark { background: var(--mark); color: var(--markink); }
    .wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
    td, th { text-align: left; padding: 3px 12px 3px 0; vertical-align: top; border-bottom: 1px solid var(--line); }
    th:nth-child(-n+2), td:nth-child(-n+2) { white-space: nowrap; }
    tr.held td, tr.skipped td { color: var(--ink); } tr.finding td { color: var(--bad); } a { color: inherit; }
    @media (max-width: 600px) { body { margin: 1em auto; } dl { grid-template-columns: 1fr; } dt { font-weight: 600; } }
    @media print { :root { --ink: #000; --paper: #fff; } body { max-width: none; font-size: 11px; }
      article, figure, tr { break-inside: avoid; } mark { outline: 1px solid #000; } }
    """
}

extension CheckResult {
  /// Whether the rule is broken.
  public var isFinding: Bool { if case .finding = outcome { true } else { false } }
}

extension CheckProof {
  fileprivate var markedHTML: String {
    var text = ""
    for (index, byte) in bytes.enumerated() {
      if index > 0 { text += " " }
      if marks.contains(where: { $0.lowerBound == index }) { text += "<mark>" }
      text += Hex.number(byte)
      if marks.contains(where: { $0.upperBound == index + 1 }) { text += "</mark>" }
    }
    return text + (length > bytes.count ? " … (\(length) bytes)" : "")
  }
}
