import AccessoryCore

/// Several runs beside each other, in the order in which they are given: what changed from the first to the last.
///
/// ```swift
/// let trend = RunTrend([("monday.json", monday), ("tuesday.json", tuesday)])
/// print(trend.text)
/// ```
public struct RunTrend: Sendable {
  /// One figure of all runs.
  public struct Row: Sendable {
    /// What it is.
    public let name: String
    /// Its value in each run.
    public let values: [Double]
    let moreIsBetter: Bool
    let unit: Axis.Unit
    let show: @Sendable (Double) -> String

    /// What changed from the first run to the last: "+3.1 %"; empty where that means nothing.
    public var change: String {
      guard let first = values.first, let last = values.last, values.count > 1 else { return "" }
      if first == last { return "same" }
      if case .count = unit { return last > first ? "+\(show(last - first))" : "-\(show(first - last))" }
      guard first > 0 else { return "" }
      return (last > first ? "+" : "") + FixedText.text((last / first - 1) * 100, places: 1) + " %"
    }

    /// "better", "worse" or nothing.
    public var verdict: String {
      guard let first = values.first, let last = values.last, first != last else { return "" }
      return (last > first) == moreIsBetter ? "better" : "worse"
    }
  }

  /// The names of the runs, such as their files.
  public let names: [String]
  /// The runs.
  public let runs: [BurstReport]

  /// By how much figures may change.
  public let limits: [ChangeLimit]

  /// Runs with their names.
  public init(_ runs: [(name: String, report: BurstReport)], limits: [ChangeLimit] = []) {
    names = runs.map(\.name)
    self.runs = runs.map(\.report)
    self.limits = limits
  }

  /// What became of each limit.
  public var checks: [BurstReport.Check] { limits.map { $0.check(self) } }

  /// Each figure of all runs.
  public var rows: [Row] {
    func row(
      _ name: String, _ unit: Axis.Unit, moreIsBetter: Bool = false, _ show: @escaping @Sendable (Double) -> String,
      _ value: (BurstReport) -> Double
    ) -> Row {
      Row(name: name, values: runs.map(value), moreIsBetter: moreIsBetter, unit: unit, show: show)
    }
    func count(_ name: String, _ value: (BurstReport) -> Int) -> Row {
      row(name, .count, { FixedText.grouped(Int($0)) }, { Double(value($0)) })
    }
    var rows = [
      row("throughput", .rate, moreIsBetter: true, { FixedText.rate($0) }, \.bytesPerSecond),
      row("bursts/s", .count, moreIsBetter: true, { FixedText.text($0, places: 1) }, \.burstsPerSecond),
    ]
    for (name, percentile) in Histogram.shownPercentiles + [("max", 100)] {
      rows.append(row(name, .time, { FixedText.time($0) }, { Double($0.latency.value(atPercentile: percentile)) }))
    }
    return rows + [count("errors", \.errorCount), count("lost", \.lost), count("overdue", \.overdue)]
  }

  /// In what the plan of a run differs from that of the first, one line each.
  public var warnings: [String] {
    guard let first = runs.first else { return [] }
    return zip(names, runs).compactMap { name, run in
      let differences = run.plan.differences(from: first.plan)
      return differences.isEmpty
        ? nil : "\(name) has another plan than \(names[0]): \(differences.joined(separator: "; "))"
    }
  }

  /// Changes below this are not in the headline.
  private static let slight = 0.05

  /// What changed from the first run to the last: "worse: p50 +59 %, throughput −39 %"; or why they cannot be compared.
  public var headline: String {
    if runs.count < 2 { return "nothing to compare with: this is one run" }
    if !warnings.isEmpty { return "not comparable: \(warnings.joined(separator: "; "))" }
    let parts = ["worse", "better"].compactMap { word in
      let texts = changes(word)
      return texts.isEmpty ? nil : "\(word): \(texts.joined(separator: ", "))"
    }
    return parts.isEmpty
      ? "about the same: nothing changed by more than \(Int(Self.slight * 100)) %" : parts.joined(separator: "; ")
  }

  /// The figures that became "worse" or "better" by more than a little.
  private func changes(_ verdict: String) -> [String] {
    rows.compactMap { row in
      guard row.verdict == verdict, row.name != "bursts/s", let first = row.values.first, let last = row.values.last
      else { return nil }
      // One error more is one error more.
      if ["errors", "lost", "overdue"].contains(row.name) {
        return "\(row.name) \(row.show(first)) → \(row.show(last))"
      }
      guard first > 0 else { return nil }
      let change = last / first - 1
      return abs(change) < Self.slight ? nil : "\(row.name) \(Self.percent(change))"
    }
  }

  /// "+59 %", "−3.1 %".
  static func percent(_ change: Double) -> String {
    let size = abs(change * 100)
    return "\(change < 0 ? "−" : "+")\(FixedText.text(size, places: size < 10 ? 1 : 0)) %"
  }

  // MARK: Forms

  private var titles: [String] { [""] + names + (runs.count > 1 ? ["change", ""] : []) }

  private var cells: [[String]] {
    let passed = ["passed"] + runs.map { $0.passed ? "yes" : "no" } + (runs.count > 1 ? ["", ""] : [])
    let dates = ["date"] + runs.map { $0.made.date } + (runs.count > 1 ? ["", ""] : [])
    let figures = rows.map { row in
      [row.name] + row.values.map(row.show) + (runs.count > 1 ? [row.change, row.verdict] : [])
    }
    return (runs.contains { !$0.made.date.isEmpty } ? [dates] : []) + [passed] + figures
  }

  /// What changed, a table with a column for each run, and the limits.
  public var text: String { ([headline, table] + checks.map(\.line)).joined(separator: "\n") }

  private var table: String {
    let lines = [titles] + cells
    let widths = titles.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    return lines.map { line in
      let texts = line.enumerated().map { column, text in
        let space = String(repeating: " ", count: widths[column] - text.count)
        return column == 0 ? text + space : space + text
      }
      let joined = texts.joined(separator: "   ")
      return String(joined.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }

  /// For programs.
  public var json: JSONObject {
    var object = JSONObject()
    object.add("easim", "burst trend")
    object.add("version", 1)
    object.add("runs", names)
    object.add("passed", raw: "[\(runs.map { "\($0.passed)" }.joined(separator: ","))]")
    object.add("headline", headline)
    object.add("comparable", runs.count > 1 && warnings.isEmpty)
    object.add("warnings", warnings)
    let judged = checks.map { check in
      var row = JSONObject()
      row.add("goal", check.goal)
      row.add("passed", check.passed)
      row.add("text", check.text)
      return row.text
    }
    object.add("checks", raw: "[\(judged.joined(separator: ","))]")
    var figures = JSONObject()
    for row in rows { figures.add(row.name, raw: "[\(row.values.map { "\($0)" }.joined(separator: ","))]") }
    object.add("figures", figures)
    return object
  }

  /// For spreadsheets: a line for each figure of each run.
  public var csv: String {
    var lines = ["run,date,figure,value"]
    for row in rows {
      for (index, value) in row.values.enumerated() {
        lines.append(
          [names[index], runs[index].made.date, row.name, FixedText.text(value, places: 3)].map(BurstReport.cell)
            .joined(separator: ","))
      }
    }
    return lines.joined(separator: "\r\n") + "\r\n"
  }

  /// For people: the table, and a chart of each figure over the runs.
  public var html: String {
    let failed = runs.count { !$0.passed }
    let checks = checks
    let isWorse = failed > 0 || checks.contains { !$0.passed } || !changes("worse").isEmpty
    let style = isWorse ? " failed" : warnings.isEmpty && runs.count > 1 ? " passed" : ""
    let notes = checks.map { "<li>\(MarkupText.escaped($0.line))</li>" }
    let charts = rows.filter { runs.count > 1 && ["throughput", "p50", "p99", "errors"].contains($0.name) }.map { row in
      "<section class=\"card\">\n<h2>\(row.name)</h2>\n<figure id=\"trend-\(row.name)\">\n"
        + Plot.Width.allCases.map { chart(row, $0) }.joined(separator: "\n") + "\n</figure>\n</section>"
    }
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>easim burst: \(runs.count.counted("run"))</title>
      <style>
      \(PageTable.style)
      </style>
      </head>
      <body>
      <header class="card\(style)">
      <h1>\(MarkupText.escaped(headline))</h1>
      <p>\(runs.count.counted("run")), \(failed) failed.</p>
      <ul class="reasons">\(notes.joined())</ul>
      </header>
      <section class="card">
      \(PageTable.table(titles, cells, numbers: 1, upTo: runs.count + 2, isPlain: true))
      </section>
      \(charts.joined(separator: "\n"))
      </body>
      </html>

      """
  }

  private func chart(_ row: Row, _ width: Plot.Width) -> String {
    var plot = Plot(
      width, x: Axis(from: 1, to: Double(runs.count), .count, marks: width.marks),
      y: Axis(to: (row.values.max() ?? 0) * 1.05, row.unit, marks: 4))
    let points = row.values.enumerated().map { (x: Double($0.offset + 1), y: $0.element) }
    plot.line("line0 \(row.name)", points)
    for (index, point) in points.enumerated() {
      plot.dot(
        "line0", x: point.x, y: point.y, data: " data-series=\"\(row.name)\" data-value=\"\(point.y)\"",
        "\(names[index]): \(row.show(point.y))")
    }
    return plot.svg("\(row.name) over the runs")
  }
}
