import AccessoryFormats

/// A section of a page, with its own HTML.
public struct PageSection: Sendable {
  let title: String
  let html: String
  /// Whether the section is a chart. Pages show charts before text and tables.
  let isChart: Bool

  /// Creates a section with a heading.
  public init(_ title: String, _ html: String, isChart: Bool = false) {
    (self.title, self.html, self.isChart) = (title, html, isChart)
  }

  /// Creates a section with a heading, or returns nil if the content is empty.
  public init?(_ title: String, _ html: String?) {
    guard let html, !html.isEmpty else { return nil }
    self.init(title, html)
  }
}

/// A report as an HTML page: the verdict and the reasons for it, up to four figures, the charts, the checks, and the
/// rest of the report. The page is a single file without scripts or external resources. The page fits narrow screens
/// and paper, and supports light and dark mode.
struct ReportPage {
  /// The maximum number of figures at the top, which is low so that readers can take the figures in at a glance.
  private static let mostFigures = 4

  /// The name of the product and the name of the test.
  var title: String
  /// The verdict as a sentence, and whether the verdict is good (true), bad (false), or neither (nil).
  var sentence: String
  var isGood: Bool?
  var remark = ""
  /// The address of the run's trace relative to the page, or nil if there is no trace.
  var trace: String?
  var reasons: [String] = []
  var figures: [ReportFigure] = []
  var cases: [ReportCase] = []
  var sections: [PageSection] = []

  init(_ report: some Report, trace: String? = nil) {
    let verdict = report.outcome
    let why = verdict.reasons
    // If the run did not pass, the reasons come first.
    let sentence =
      why.first.map { $0 + (why.count > 1 ? ", and \((why.count - 1).counted("more reason", "more reasons"))" : "") }
    let text = sentence ?? report.headline
    let isTitled = text.lowercased().hasPrefix(verdict.title.lowercased())
    self.init(
      report.title, isTitled ? "\(text.prefix(1).uppercased())\(text.dropFirst())." : "\(verdict.title): \(text).",
      isGood: verdict.isPassed)
    if let sentence, sentence != report.headline { remark = "\(report.headline)." }
    (self.trace, reasons) = (trace, Array(why.dropFirst()))
    figures = Array(report.figures.filter(\.isMain).prefix(Self.mostFigures))
    (cases, sections) = (report.suite.cases, report.sections)
  }

  init(_ title: String, _ sentence: String, isGood: Bool?) {
    (self.title, self.sentence, self.isGood) = (title, sentence, isGood)
  }

  var html: String {
    var body = [header]
    if !figures.isEmpty { body.append(figureCards) }
    let checks = PageSection("Checks", cases.isEmpty ? nil : PageTable.cases(cases, trace: trace))
    var charts = sections.filter(\.isChart)
    if charts.isEmpty, cases.count > 1 { charts = [PageSection("Outcomes", PageTable.outcomes(cases))] }
    for section in charts + [checks].compactMap(\.self) + sections.filter({ !$0.isChart }) {
      body.append("<section class=\"card\">\n<h2>\(section.title)</h2>\n\(section.html)\n</section>")
    }
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(MarkupText.escaped(title)): \(MarkupText.escaped(sentence))</title>
      <style>
      \(PageTable.style)
      </style>
      </head>
      <body>
      \(body.joined(separator: "\n"))
      </body>
      </html>

      """
  }

  private var header: String {
    let style = isGood.map { $0 ? " passed" : " failed" } ?? ""
    let why = reasons.map { "<li>\(MarkupText.escaped($0))</li>" }.joined()
    return """
      <header class="card\(style)">
      <p class="run">\(MarkupText.escaped(title))</p>
      <h1>\(MarkupText.escaped(sentence))</h1>
      \(below)\(why.isEmpty ? "" : "<ul class=\"reasons\">\(why)</ul>\n")</header>
      """
  }

  private var below: String {
    let link = trace.map {
      "<a href=\"\(MarkupText.escaped($0))\">See the run: its lanes, packets and log</a>"
    }
    let parts = [remark.isEmpty ? nil : MarkupText.escaped(remark), link].compactMap(\.self)
    return parts.isEmpty ? "" : "<p>\(parts.joined(separator: " "))</p>\n"
  }

  private var figureCards: String {
    let cards = figures.map {
      "<p class=\"card\"><b>\(MarkupText.escaped($0.text))</b> \(MarkupText.escaped($0.name))</p>"
    }
    return "<div class=\"figures\">\n\(cards.joined(separator: "\n"))\n</div>"
  }
}

/// The tables on report pages, and the styles of these tables.
package enum PageTable {
  /// Returns a table that scrolls horizontally if it is wider than the page. The columns from `numbers` up to, but not
  /// including, `end` contain numbers. `styles` contains a CSS class for each row.
  package static func table(
    _ titles: [String], _ rows: [[String]], numbers: Int = .max, upTo end: Int = .max, isPlain: Bool = false,
    styles: [String] = []
  ) -> String {
    func row(_ cells: [String], _ tag: String, _ class: String = "") -> String {
      let cells = cells.enumerated().map { index, text in
        let style = (numbers..<max(numbers, end)).contains(index) ? " class=\"number\"" : ""
        return "<\(tag)\(style)>\(MarkupText.escaped(text))</\(tag)>"
      }
      return "<tr\(`class`.isEmpty ? "" : " class=\"\(`class`)\"")>\(cells.joined())</tr>"
    }
    let body = rows.enumerated().map { row($1, "td", $0 < styles.count ? styles[$0] : "") }.joined(separator: "\n")
    let style = isPlain ? " class=\"plain\"" : ""
    return
      "<div class=\"scroll\"><table\(style)>\n<thead>\(row(titles, "th"))</thead>\n<tbody>\(body)</tbody>\n</table></div>"
  }

  /// Returns bars that show how many checks in each part of the run passed, failed and were skipped.
  static func outcomes(_ cases: [ReportCase]) -> String {
    var parts: [(name: String, counts: [Int])] = []
    for one in cases {
      let place = parts.firstIndex { $0.name == one.part } ?? parts.count
      if place == parts.count { parts.append((one.part, [0, 0, 0])) }
      parts[place].counts[one.sign.index] += 1
    }
    let most = Double(parts.map { $0.counts.reduce(0, +) }.max() ?? 1)
    let rows = parts.map { name, counts in
      let shown = zip(["passed", "failed", "skipped"], counts).filter { $1 > 0 }
      let bars = shown.map { word, count in
        "<div class=\"bar \(word)\" data-count=\"\(count)\" "
          + "style=\"width:\(FixedText.text(Double(count) / most * 100, places: 2))%\"></div>"
      }
      let text = shown.map { "\($1) \($0)" }.joined(separator: ", ")
      return
        "<tr><th>\(MarkupText.escaped(name))</th><td class=\"track\"><div class=\"stack\">\(bars.joined())</div></td>"
        + "<td class=\"number\">\(text)</td></tr>"
    }
    return "<table class=\"bars\">\n\(rows.joined(separator: "\n"))\n</table>"
  }

  /// Returns a table of the checks. Failures come first. Failed checks come with details and with links to the trace.
  static func cases(_ cases: [ReportCase], trace: String? = nil) -> String {
    let isGrouped = Set(cases.map(\.part)).count > 1
    let rows = (cases.filter(\.isFailed) + cases.filter { !$0.isFailed }).map { one in
      let (sign, word) = (one.sign.sign, one.sign.word)
      let (text, details) =
        switch one.outcome {
        case .passed: (one.note, "")
        case .skipped(let reason): (reason, "")
        case .failed(let text, _, let details): (text, details)
        }
      let link =
        trace.flatMap { trace in
          one.traced.map { " <a href=\"\(MarkupText.escaped(trace))#\(Self.fragment($0))\">in the trace</a>" }
        } ?? ""
      let lines = details.isEmpty || !one.more.isEmpty ? "" : "<pre>\(MarkupText.escaped(details))</pre>"
      let cells = (isGrouped ? [one.part] : []) + [one.name, text]
      return "<tr class=\"\(word)\"><td title=\"\(word)\">\(sign)</td>"
        + cells.map { "<td>\(MarkupText.escaped($0))" }.joined(separator: "</td>") + link + lines + one.more
        + "</td></tr>"
    }
    return
      "<div class=\"scroll\"><table class=\"cases\"><tbody>\n\(rows.joined(separator: "\n"))\n</tbody></table></div>"
  }

  /// Escapes text so that it can be used as a URL fragment.
  private static func fragment(_ text: String) -> String {
    text.utf8.map { byte in
      let isPlain =
        byte < 0x80 && (Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber)
      return isPlain || byte == UInt8(ascii: "-")
        ? String(Unicode.Scalar(byte)) : "%" + String(byte, radix: 16, uppercase: true).zeroPadded(to: 2)
    }.joined()
  }

  /// Returns a list of names, each with its text. On narrow screens, the text is below the name.
  package static func facts(_ facts: [(String, String)]) -> String {
    let lines = facts.map { "<dt>\(MarkupText.escaped($0.0))</dt><dd>\(MarkupText.escaped($0.1))</dd>" }
    return "<dl>\n\(lines.joined(separator: "\n"))\n</dl>"
  }

  /// Returns a note that says how many entries are not shown, or an empty string if all are shown.
  package static func more(_ count: Int, _ one: String, _ several: String) -> String {
    count > 0 ? "\n<p>And \(count.counted(one, several)) more, not shown.</p>" : ""
  }

  package static let style =
    PageLook.style + """
      body { max-width: 940px; margin: 1.5rem auto; padding: 0 16px; overflow-wrap: anywhere; }
      h1 { font-size: 1.3rem; line-height: 1.25; margin: 0; } h2 { font-size: 1rem; margin: 0 0 .4rem; }
      header, section { margin: 0 0 .8rem; } header.card { border-left-width: 6px; } header p, header ul { color: var(--text); margin: .4em 0; } a { color: var(--focus); }
      .card.passed { border-left-color: var(--good); } .card.failed { border-left-color: var(--bad); }
      .passed h1 { color: var(--good); } .failed h1 { color: var(--bad); }
      .run { color: var(--faint); } .figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .8rem; margin: 0 0 .8rem; }
      .figures p { margin: 0; color: var(--faint); } .figures b { display: block; color: var(--text); font-size: 1.3rem; }
      .cases { width: 100%; } .cases td:first-child { width: 1.5rem; } .cases .passed td:first-child { color: var(--good); }
      .cases .failed td:first-child { color: var(--bad); } .cases .skipped { color: var(--faint); }
      pre { overflow-x: auto; line-height: 1.4; margin: .4em 0; white-space: pre-wrap; } mark { background: var(--marked); color: inherit; outline: 1px solid var(--line); }
      .scroll { overflow-x: auto; } p { margin: .4em 0; }
      td, th { vertical-align: top; overflow-wrap: normal; } tr:last-child td, .bars td, .bars th { border-bottom: 0; }
      .plain { font-size: 13px; } .plain td { white-space: nowrap; } .plain td, .plain th { padding: .2rem .45rem; }
      thead th { font-weight: 600; color: var(--faint); }
      .number { text-align: right; white-space: nowrap; }
      dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 0; } dt { color: var(--faint); } dd { margin: 0; }
      svg { display: block; } svg.narrow { display: none; } .chart text.note { font-size: 14px; }
      .tick { stroke: var(--faint); } .chart .line.line1 { stroke-dasharray: 5 2; }
      .dot { fill-opacity: .5; stroke: none; } .dot:hover { fill-opacity: 1; stroke: var(--text); }
      .hover { fill: transparent; } .hover:hover { fill: var(--faint); fill-opacity: .2; }
      .whole { fill: var(--whole); } .empty { fill: var(--bare); stroke: var(--whole); }
      .heat:hover, .whole:hover, .empty:hover { stroke: var(--text); }
      .heat.s1 { fill: var(--s1); } .heat.s2 { fill: var(--s2); } .heat.s3 { fill: var(--s3); } .heat.s4 { fill: var(--s4); } .heat.s5 { fill: var(--s5); }
      .mark line { stroke: currentColor; stroke-dasharray: 4 3; } .mark.many line { stroke-dasharray: none; } .mark.many .sign { transform: scale(.5); }
      .mark .sign { fill: currentColor; transform-box: fill-box; transform-origin: center; }
      .mark { color: var(--faint); } .mark.plug { color: var(--good); } .mark.unplug { color: var(--warn); } .mark.flicker { color: var(--link); }
      .mark.error { color: var(--bad); } .mark.phase { color: var(--session); }
      .key { white-space: nowrap; } .key.line1::before { background: repeating-linear-gradient(90deg, var(--line1) 0 5px, transparent 5px 7px); }
      .key.sign::before { width: 9px; height: 9px; border-radius: 5px; background: currentColor; } .key.error::before { border-radius: 0; }
      .key.plug::before { background: var(--good); } .key.unplug::before { background: var(--warn); } .key.flicker::before { background: var(--link); }
      .key.error::before { background: var(--bad); } .key.warm::before { background: var(--faint); } .key.phase::before { background: var(--session); }
      .key.empty::before { background: var(--bare); border: 1px solid var(--whole); }
      .key.s1::before { background: var(--s1); } .key.s2::before { background: var(--s2); } .key.s3::before { background: var(--s3); }
      .key.s4::before { background: var(--s4); } .key.s5::before { background: var(--s5); }
      .bars { width: 100%; } .bars th { font-weight: normal; white-space: nowrap; } .bars .track { width: 100%; padding: 0; vertical-align: middle; }
      .bar { height: 12px; min-width: 1px; } .bar.failed { background: var(--bad); }
      .stack { display: flex; gap: 1px; } .bar.passed { background: var(--good); } .bar.skipped { background: var(--link); }
      .goal line { stroke: var(--good); stroke-width: 2; stroke-dasharray: 8 4; } .goal.missed line { stroke: var(--bad); }
      .chart .goal text { fill: var(--good); font-weight: 600; } .chart .goal.missed text { fill: var(--bad); }
      tr.better td:nth-last-child(-n+2) { color: var(--good); } tr.worse td:nth-last-child(-n+2) { color: var(--bad); font-weight: 600; }
      @media (max-width: 640px) {
        body { margin: .6rem auto; padding: 0 8px; } .card { padding: .6rem .5rem; } svg.wide { display: none; } svg.narrow { display: block; }
        dl { grid-template-columns: 1fr; } dt { margin-top: 4px; } td, th { padding: .2rem .4rem .2rem 0; }
        table { font-size: 13px; } .scroll td:first-child { overflow-wrap: anywhere; }
      }
      @media print {
        * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
        body { margin: 0; max-width: none; font-size: 11px; } .legend { font-size: 10px; } figure, header, tr { break-inside: avoid; } h2 { break-after: avoid; }
        svg.wide { display: block; } svg.narrow { display: none; } .scroll { overflow: visible; }
        .scroll table { font-size: 10px; } td, th { padding-right: 8px; } .plain td { white-space: normal; overflow-wrap: anywhere; }
      }
      """
}
