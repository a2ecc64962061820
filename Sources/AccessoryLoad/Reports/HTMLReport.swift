import AccessoryCore
import IAP2

extension BurstReport {
  /// The report as one self-contained page: the figures, and charts of throughput over time, of latency by
  /// percentile, and of the attachments.
  public func html(_ comparison: BaselineComparison? = nil) -> String {
    var body = ["<h1>\(MarkupText.escaped(headline))</h1>"]
    let state = passed && comparison?.passed ?? true ? "passed" : "failed"
    body.append("<p class=\"\(state)\">\(state): \(MarkupText.escaped(ending))</p>")
    body.append(table(["figure", "value"], figureRows))
    body.append("<h2>Throughput over time</h2>\n\(throughputChart.svg)")
    body.append("<h2>Latency by percentile</h2>\n\(percentileChart.svg)")
    body.append("<h2>Attachments</h2>\n\(attachmentChart)")
    let errors = ErrorKind.allCases.compactMap { kind in
      self.errors[kind].map { [kind.title, FixedText.grouped($0.count), $0.first] }
    }
    if !errors.isEmpty { body.append("<h2>Errors</h2>\n\(table(["kind", "how many", "the first"], errors))") }
    if let mismatchText { body.append("<p>Bytes that came back wrong: \(mismatchText)</p>") }
    if let comparison {
      let rows = comparison.figures.map { [$0.isRegression ? "worse" : "within", $0.description] }
      body.append("<h2>Baseline</h2>\n\(table(["verdict", "figure"], rows))")
    }
    let counters = LinkCounters.reportFields.map { [$0.name, FixedText.grouped(link[keyPath: $0.path])] }
    body.append("<h2>Link</h2>\n\(table(["counter", "value"], counters))")
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <title>easim burst: \(MarkupText.escaped(headline))</title>
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

  private static let style = """
    body { font: 15px/1.5 system-ui, sans-serif; max-width: 900px; margin: 2em auto; padding: 0 1em; color: #222; }
    h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
    table { border-collapse: collapse; } td, th { text-align: left; padding: 2px 16px 2px 0; vertical-align: top; }
    th { border-bottom: 1px solid #999; } .passed { color: #176f2c; } .failed { color: #b3261e; }
    svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: #555; }
    .grid { stroke: #ddd; } .line { fill: none; stroke: #1a5fb4; stroke-width: 1.5; }
    .dot { fill: #1a5fb4; } .alarm { fill: #b3261e; } .whole { fill: #1a5fb4; } .empty { fill: #bbb; }
    """

  private func table(_ titles: [String], _ rows: [[String]]) -> String {
    func row(_ cells: [String], _ tag: String) -> String {
      "<tr>\(cells.map { "<\(tag)>\(MarkupText.escaped($0))</\(tag)>" }.joined())</tr>"
    }
    return "<table>\n\(([row(titles, "th")] + rows.map { row($0, "td") }).joined(separator: "\n"))\n</table>"
  }

  private var figureRows: [[String]] {
    var rows = [
      ["plan", planText], ["measured", "\(FixedText.text(measured.inSeconds, places: 3)) s"],
      ["throughput", FixedText.rate(bytesPerSecond)],
      ["bursts", "\(FixedText.text(burstsPerSecond, places: 1)) per second"],
      ["completed, lost, overdue", "\(completed), \(lost), \(overdue)"],
      ["reconnections", "\(reconnections)"], ["latency", Self.figures(latency)],
    ]
    if service.total > 0 { rows.append(["service", Self.figures(service)]) }
    return rows
  }

  private var throughputChart: LineChart {
    let seconds = series.length.inSeconds
    let points = series.slices.enumerated().map { index, slice in
      let rate = Double(slice.bytes) / seconds
      let from = FixedText.text(Double(index) * seconds, places: 1)
      return LineChart.Point(
        x: (Double(index) + 0.5) * seconds, y: rate,
        title: "from \(from) s: \(FixedText.rate(rate)), \(slice.bursts) bursts, \(slice.errors) errors")
    }
    let end = Double(series.slices.count) * seconds
    let marks = (0...5).map { step in
      let x = end * Double(step) / 5
      return (x: x, text: "\(FixedText.text(x, places: 1)) s")
    }
    let alarms = zip(series.slices, points).filter { $0.0.errors > 0 }.map(\.1)
    return LineChart(
      name: "throughput over time", points: points, xMarks: marks, yText: { FixedText.rate($0) }, alarms: alarms)
  }

  /// The horizontal axis counts nines: 50 %, 90 %, 99 % and so on are equally far from each other.
  private var percentileChart: LineChart {
    func place(_ quantile: Double) -> Double {
      var (left, nines) = (1 - quantile, 0.0)
      while left < 0.1 {
        left *= 10
        nines += 1
      }
      // Between two nines along a straight line, which is near enough for a chart.
      return nines + (1 - left) / 0.9
    }
    let lines = latency.percentileLines
    let last = lines.dropLast().last.map { place($0.quantile) } ?? 1
    let points = lines.map { line in
      let x = line.quantile < 1 ? place(line.quantile) : last
      let percent = FixedText.text(line.quantile * 100, places: 4)
      return LineChart.Point(
        x: x, y: Double(line.value), title: "\(percent) % within \(FixedText.time(Double(line.value)))")
    }
    let marks = [(0.0, "0 %"), (0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")]
      .filter { place($0.0) <= last + 0.01 }.map { (x: place($0.0), text: $0.1) }
    return LineChart(
      name: "latency by percentile", points: points, xMarks: marks, yText: { FixedText.time($0) })
  }

  /// A bar for each publication, in a row for each accessory.
  private var attachmentChart: String {
    let all = sites.flatMap(\.attachments)
    let start = all.map(\.from).min() ?? .origin
    let end = max(all.compactMap(\.to).max() ?? start, start + .nanoseconds(1))
    let scale = 700.0 / (end - start).inSeconds
    var parts: [String] = []
    for (row, site) in sites.enumerated() {
      let y = Double(row) * 26 + 8
      parts.append("<text x=\"0\" y=\"\(LineChart.number(y + 13))\">\(MarkupText.escaped(site.serial))</text>")
      for attachment in site.attachments {
        let x = 140 + (attachment.from - start).inSeconds * scale
        let width = max(1, ((attachment.to ?? attachment.from) - attachment.from).inSeconds * scale)
        let title =
          "\(attachment.completed) completed, \(attachment.lost) lost"
          + "\(attachment.offeredProtocols ? "" : ", no protocols") (\(attachment.end))"
        parts.append(
          "<rect class=\"\(attachment.offeredProtocols ? "whole" : "empty")\" x=\"\(LineChart.number(x))\" "
            + "y=\"\(LineChart.number(y))\" width=\"\(LineChart.number(width))\" height=\"18\">"
            + "<title>\(MarkupText.escaped(title))</title></rect>")
      }
    }
    return LineChart.svg("attachments", height: Double(max(1, sites.count)) * 26 + 10, parts)
  }
}
