/// What was tried and what came of it, as one page for people that needs nothing else: a verdict, sentences, and a table with
/// a row for each try.
package struct ResultPage {
  private let title: String
  private let verdict: Verdict
  private let sentences: [String]
  private let columns: [String]
  private var rows: [String] = []

  /// A page without rows.
  package init(_ title: String, _ verdict: Verdict, _ sentences: [String], columns: [String]) {
    (self.title, self.verdict, self.sentences, self.columns) = (title, verdict, sentences, columns)
  }

  /// Adds a row. The lines of a failed one stand below its last cell, behind `summary` where there is one.
  package mutating func add(passed: Bool, _ cells: [String], details: [String] = [], summary: String? = nil) {
    var cells = cells.map(Self.cell)
    if !passed, !details.isEmpty, !cells.isEmpty {
      let lines = "<pre>\(MarkupText.escaped(details.joined(separator: "\n")))</pre>"
      cells[cells.count - 1] += summary.map { "<details><summary>\($0)</summary>\(lines)</details>" } ?? lines
    }
    let row = cells.map { "<td>\($0)</td>" }.joined()
    rows.append("<tr class=\"\(passed ? "passed" : "failed")\"><td>\(passed ? "✓" : "✗")</td>\(row)</tr>")
  }

  /// The first of several lines is the one that readers look for.
  private static func cell(_ text: String) -> String {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { MarkupText.escaped($0) }
    guard lines.count > 1, let first = lines.first else { return lines.first ?? "" }
    return (["<b>\(first)</b>"] + lines.dropFirst()).joined(separator: "<br>")
  }

  /// The file.
  package var html: String {
    """
    <!doctype html>
    <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
    <title>\(MarkupText.escaped(title))</title>
    <style>
    \(PageLook.style)
    body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
    table { width: 100%; }
    th, td { vertical-align: top; }
    .passed td:first-child { color: var(--good); } .failed td:first-child { color: var(--bad); }
    pre { overflow-x: auto; line-height: 1.4; }
    @media (max-width: 600px) { thead { display: none; } td, th { display: block; border: 0; padding: .1rem 0; } tr { display: block; border-bottom: 1px solid var(--line); } }
    </style></head><body>
    <h1>\(verdict.title)</h1>
    \(sentences.map { "<p>\(MarkupText.escaped($0))</p>" }.joined(separator: "\n"))
    <table><thead><tr><th></th>\(columns.map { "<th>\($0)</th>" }.joined())</tr></thead><tbody>
    \(rows.joined(separator: "\n"))
    </tbody></table></body></html>

    """
  }
}
