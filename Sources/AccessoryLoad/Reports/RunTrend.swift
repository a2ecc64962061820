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

  /// Runs with their names.
  public init(_ runs: [(name: String, report: BurstReport)]) {
    names = runs.map(\.name)
    self.runs = runs.map(\.report)
  }

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

  /// A table, with a column for each run.
  public var text: String {
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
    object.add("warnings", warnings)
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
    let notes = warnings.map { "<li>\(MarkupText.escaped($0))</li>" }
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
      <header class="card \(failed == 0 ? "passed" : "failed")">
      <h1>\(failed == 0 ? "Passed" : "Failed")</h1>
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
