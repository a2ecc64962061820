import AccessoryFormats

/// A section of a page with its own HTML, such as a chart or a table.
public struct PageSection: Sendable {
  let title: String
  let html: String

  /// A section with a heading.
  public init(_ title: String, _ html: String) { (self.title, self.html) = (title, html) }

  /// The same, but nil if there is nothing to show.
  public init?(_ title: String, _ html: String?) {
    guard let html, !html.isEmpty else { return nil }
    self.init(title, html)
  }
}

/// A report for people: the verdict with its reasons, the main figures, the checks, and the rest of the report. It is
/// one file without scripts or external resources. It fits narrow screens and paper, and follows the reader's choice of
/// light or dark mode.
struct ReportPage {
  var title: String
  /// The text at the top, and whether it is good news; nil if neither good nor bad.
  var heading: String
  var isGood: Bool?
  var headline: String
  var reasons: [String] = []
  var figures: [ReportFigure] = []
  var cases: [ReportCase] = []
  var sections: [PageSection] = []

  /// Renders the page of a report.
  init(_ report: some Report) {
    let verdict = report.outcome
    (title, heading, isGood) = (report.title, verdict.title, verdict.isPassed)
    (headline, reasons) = ("\(report.headline).", verdict.reasons)
    (figures, cases, sections) = (report.figures.filter(\.isMain), report.suite.cases, report.sections)
  }

  init(_ title: String, heading: String, isGood: Bool?, headline: String) {
    (self.title, self.heading, self.isGood, self.headline) = (title, heading, isGood, headline)
  }

  /// The contents of the file.
  var html: String {
    var body = [header]
    if !figures.isEmpty { body.append(figureCards) }
    let checks = cases.isEmpty ? nil : PageTable.cases(cases)
    for section in [PageSection("Checks", checks)].compactMap(\.self) + sections {
      body.append("<section class=\"card\">\n<h2>\(section.title)</h2>\n\(section.html)\n</section>")
    }
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>\(MarkupText.escaped(title)): \(MarkupText.escaped(heading))</title>
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
      <h1>\(MarkupText.escaped(heading))</h1>
      <p>\(MarkupText.escaped(headline))</p>
      \(why.isEmpty ? "" : "<ul class=\"reasons\">\(why)</ul>\n")</header>
      """
  }

  private var figureCards: String {
    let cards = figures.map {
      "<p class=\"card\"><b>\(MarkupText.escaped($0.text))</b> \(MarkupText.escaped($0.name))</p>"
    }
    return "<div class=\"figures\">\n\(cards.joined(separator: "\n"))\n</div>"
  }
}
