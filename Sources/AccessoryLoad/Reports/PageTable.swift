import AccessoryCore

/// What pages of reports are made of: tables, and the style.
enum PageTable {
  /// A table that scrolls by itself where it is wider than the page. Columns from `numbers` up to `end` hold numbers.
  static func table(
    _ titles: [String], _ rows: [[String]], numbers: Int = .max, upTo end: Int = .max, isPlain: Bool = false
  ) -> String {
    func row(_ cells: [String], _ tag: String) -> String {
      let cells = cells.enumerated().map { index, text in
        let style = (numbers..<max(numbers, end)).contains(index) ? " class=\"number\"" : ""
        return "<\(tag)\(style)>\(MarkupText.escaped(text))</\(tag)>"
      }
      return "<tr>\(cells.joined())</tr>"
    }
    let body = rows.map { row($0, "td") }.joined(separator: "\n")
    let style = isPlain ? " class=\"plain\"" : ""
    return
      "<div class=\"scroll\"><table\(style)>\n<thead>\(row(titles, "th"))</thead>\n<tbody>\(body)</tbody>\n</table></div>"
  }

  /// Names with texts, which stand below each other on a phone.
  static func facts(_ facts: [(String, String)]) -> String {
    let lines = facts.map { "<dt>\(MarkupText.escaped($0.0))</dt><dd>\(MarkupText.escaped($0.1))</dd>" }
    return "<dl>\n\(lines.joined(separator: "\n"))\n</dl>"
  }

  /// What is not shown; nothing where all of it is.
  static func more(_ count: Int, _ one: String, _ several: String) -> String {
    count > 0 ? "\n<p>And \(count.counted(one, several)) more, which are not shown.</p>" : ""
  }

  /// Colours are chosen so that each can be told from its neighbours in light, in dark and in grey.
  static let style = """
    :root { color-scheme: light dark; --ink: #222; --dim: #5c5c5c; --line: #ddd; --page: #fff; --a: #1a5fb4; --b: #c64600;
      --good: #176f2c; --bad: #b3261e; --idle: #9a9996; --s1: #d6e6f7; --s2: #9ec4ea; --s3: #5b9bd8; --s4: #2268b0; --s5: #0b3566; }
    @media (prefers-color-scheme: dark) {
      :root { --ink: #e6e6e6; --dim: #a6a6a6; --line: #3a3a3a; --page: #1b1b1b; --a: #78aeed; --b: #ffa348; --good: #57c779;
        --bad: #ff7b72; --idle: #77767b; --s1: #16324f; --s2: #1f5388; --s3: #2f7fc4; --s4: #74b0ea; --s5: #cfe5fb; }
    }
    body { font: 15px/1.5 system-ui, sans-serif; max-width: 900px; margin: 2em auto; padding: 0 16px; color: var(--ink);
      background: var(--page); overflow-wrap: anywhere; }
    h1 { font-size: 1.6em; margin: 0; } h2 { font-size: 1.1em; margin: 2em 0 .5em; }
    header { border-left: 6px solid; padding: 4px 14px; } header p, header ul { color: var(--ink); margin: .4em 0; }
    .passed { color: var(--good); } .failed { color: var(--bad); }
    .scroll { overflow-x: auto; } table { border-collapse: collapse; }
    td, th { text-align: left; padding: 3px 14px 3px 0; vertical-align: top; overflow-wrap: normal; }
    .plain { font-size: 13px; } .plain td { white-space: nowrap; }
    thead th { border-bottom: 1px solid var(--dim); font-weight: 600; }
    .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 0; } dt { color: var(--dim); } dd { margin: 0; }
    figure { margin: 0; } svg { display: block; width: 100%; height: auto; } svg.narrow { display: none; }
    svg text { font: 12px system-ui, sans-serif; fill: var(--dim); } svg text.note { font-size: 14px; }
    .grid { stroke: var(--line); } .tick { stroke: var(--dim); } .line { fill: none; stroke-width: 1.6; }
    .line.a { stroke: var(--a); } .line.b { stroke: var(--b); stroke-dasharray: 5 2; } .dot.a { fill: var(--a); } .dot.b { fill: var(--b); }
    .dot { fill-opacity: .5; } .dot:hover { fill-opacity: 1; stroke: var(--ink); }
    .hover { fill: transparent; } .hover:hover { fill: var(--dim); fill-opacity: .2; }
    .heat:hover, .whole:hover, .empty:hover { stroke: var(--ink); }
    .s1 { fill: var(--s1); } .s2 { fill: var(--s2); } .s3 { fill: var(--s3); } .s4 { fill: var(--s4); } .s5 { fill: var(--s5); }
    .whole { fill: var(--a); } .empty { fill: var(--idle); }
    .mark line { stroke: currentColor; stroke-dasharray: 2 2; } .mark.many line { stroke-dasharray: none; } .mark.many circle { r: 2px; }
    .mark circle { fill: currentColor; }
    .plug { color: var(--good); } .unplug { color: var(--bad); } .flicker { color: var(--idle); } .error { color: var(--b); } .warm { color: var(--dim); } .phase { color: var(--a); }
    figcaption { display: flex; flex-wrap: wrap; gap: 2px 16px; color: var(--dim); font-size: 13px; }
    .key { display: inline-flex; align-items: center; gap: 6px; }
    .key i { display: inline-block; width: 18px; height: 10px; } .key i.line { height: 0; border-top: 2px solid; }
    .key i.a, .key i.whole { border-color: var(--a); } .key i.b { border-color: var(--b); border-top-style: dashed; }
    .key i.whole { background: var(--a); } .key i.empty { background: var(--idle); }
    .key i.mark { width: 8px; height: 8px; border-radius: 4px; background: currentColor; }
    .key i.s1 { background: var(--s1); } .key i.s2 { background: var(--s2); } .key i.s3 { background: var(--s3); }
    .key i.s4 { background: var(--s4); } .key i.s5 { background: var(--s5); }
    .bars { width: 100%; } .bars th { font-weight: normal; white-space: nowrap; } .bars .track { width: 100%; padding-right: 0; vertical-align: middle; }
    .bar { height: 12px; min-width: 1px; } .bar.bad { background: var(--bad); } .bar.good { background: var(--a); }
    @media (max-width: 640px) {
      body { margin: 1em auto; } svg.wide { display: none; } svg.narrow { display: block; }
      dl { grid-template-columns: 1fr; } dt { margin-top: 4px; } td, th { padding-right: 8px; }
      table { font-size: 13px; } .scroll td:first-child { overflow-wrap: anywhere; }
    }
    @media print {
      :root { --ink: #000; --dim: #444; --line: #ccc; --page: #fff; --a: #1a5fb4; --b: #c64600; --good: #176f2c; --bad: #b3261e;
        --idle: #9a9996; --s1: #d6e6f7; --s2: #9ec4ea; --s3: #5b9bd8; --s4: #2268b0; --s5: #0b3566; }
      * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
      body { margin: 0; max-width: none; font-size: 11px; } figcaption { font-size: 10px; } figure, header, tr { break-inside: avoid; } h2 { break-after: avoid; }
      svg.wide { display: block; } svg.narrow { display: none; } .scroll { overflow: visible; }
      .scroll table { font-size: 10px; } td, th { padding-right: 8px; } .plain td { white-space: normal; overflow-wrap: anywhere; }
    }
    """
}
