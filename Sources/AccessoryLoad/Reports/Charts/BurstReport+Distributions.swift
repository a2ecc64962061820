import AccessoryFormats
import AccessoryRuns

extension BurstReport {
  /// The lines of the percentile chart, with latencies in milliseconds and percentiles as numbers of nines.
  var percentileSeries: [(style: String, name: String, lines: [Histogram.PercentileLine])] {
    var series = [(style: "line0", name: "latency", lines: latency.percentileLines)]
    if service.total > 0 { series.append((style: "line1", name: "service", lines: service.percentileLines)) }
    return series
  }

  /// Returns the number of nines in a fraction: one for 0.9, two for 0.99. Linear interpolation is precise enough for a
  /// chart.
  static func nines(_ quantile: Double) -> Double {
    var (left, nines) = (1 - quantile, 0.0)
    while left < 0.1, nines < 6 {
      left *= 10
      nines += 1
    }
    return nines + min(1, (1 - left) / 0.9)
  }

  func percentileChart(_ width: Plot.Width) -> String {
    let series = percentileSeries
    let lines = series.flatMap(\.lines)
    let most = lines.filter { $0.quantile < 1 }.map { Self.nines($0.quantile) }.max() ?? 1
    let goals = goals(onTimes: true)
    let values = lines.map { Double($0.value) } + goals.map(\.at)
    var plot = Plot(width, x: Axis(nines: most), y: Axis(logarithmic: values.min() ?? 1e6, values.max() ?? 1e6, .time))
    if lines.isEmpty { plot.note("no burst was completed") }
    for (style, name, lines) in series {
      let points = lines.map { line in
        (x: line.quantile < 1 ? Self.nines(line.quantile) : plot.x.high, y: Double(line.value))
      }
      plot.line("\(style) \(name)", points)
      for (line, point) in zip(lines, points) {
        let percent = Self.trimmed(FixedText.text(line.quantile * 100, places: 5))
        plot.dot(
          style, x: point.x, y: point.y,
          data: " data-series=\"\(name)\" data-quantile=\"\(line.quantile)\" data-value=\"\(line.value)\"",
          "\(name): \(percent) % within \(FixedText.time(Double(line.value)))")
      }
    }
    for goal in goals { plot.goal(goal.at, goal.text, isMet: goal.isMet) }
    return plot.svg("latency by percentile")
  }

  private static func trimmed(_ number: String) -> String {
    guard number.contains(".") else { return number }
    let short = number.reversed().drop { $0 == "0" }
    return String((short.first == "." ? short.dropFirst() : short).reversed())
  }

  /// Returns one bar per row, with a label, a count and a tooltip. Unlike SVG, HTML wraps long text.
  static func bars(_ rows: [(name: String, count: Int, title: String)], _ style: String) -> String {
    let most = Double(max(1, rows.map(\.count).max() ?? 1))
    let lines = rows.map { row in
      let part = FixedText.text(Double(row.count) / most * 100, places: 2)
      return "<tr title=\"\(MarkupText.escaped(row.title))\"><th>\(MarkupText.escaped(row.name))</th>"
        + "<td class=\"number\">\(FixedText.grouped(row.count))</td><td class=\"track\"><div class=\"bar \(style)\" "
        + "data-count=\"\(row.count)\" style=\"width:\(part)%\"></div></td></tr>"
    }
    return "<table class=\"bars\">\n\(lines.joined(separator: "\n"))\n</table>"
  }
}
