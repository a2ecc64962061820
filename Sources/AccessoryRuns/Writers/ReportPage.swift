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
  /// The remark below the verdict, which may be empty.
  var remark = ""
  /// The address of the run's trace relative to the page, or nil if there is no trace.
  var trace: String?
  var reasons: [String] = []
  var figures: [ReportFigure] = []
  var cases: [ReportCase] = []
  var sections: [PageSection] = []

  /// Creates the page of a report, with links to the trace of the run.
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

  /// The remark, followed by a link to the trace.
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
