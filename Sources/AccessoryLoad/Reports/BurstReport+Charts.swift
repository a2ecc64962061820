import AccessoryCore
import AccessoryFormats
import AccessoryRuns

extension BurstReport {
  /// The duration of the load in nanoseconds, which is the length of every time axis.
  var span: Double {
    let slices = Double(series.length.wholeNanoseconds) * Double(series.slices.count)
    let run = Double((warmUpTime + measured).wholeNanoseconds)
    // Reports written by earlier versions of easim do not contain the length of the warm-up.
    return run > 0 && run >= slices - Double(series.length.wholeNanoseconds) - 1 ? run : max(slices, 1)
  }

  private func bounds(_ length: Duration, _ count: Int) -> [Double] {
    let length = Double(length.wholeNanoseconds)
    guard count > 0 else { return [] }
    let last = Double(count - 1) * length
    // The last slice ends when the run ends.
    return (0..<count).map { Double($0) * length } + [min(Double(count) * length, max(span, last + 1e6))]
  }

  /// The slices that charts show, and their bounds. If the last slice is short, it is merged with the one before it,
  /// because a few bytes in a few milliseconds would look like a peak.
  private var shownSlices: (bounds: [Double], slices: [ThroughputSlice]) {
    var (bounds, slices) = (bounds(series.length, series.slices.count), series.slices)
    let count = slices.count
    let half = Double(series.length.wholeNanoseconds) / 2
    if count > 1, bounds[count] - bounds[count - 1] < half {
      let rest = slices.removeLast()
      slices[count - 2].add(rest)
      bounds.remove(at: count - 1)
      // A slice shorter than a millisecond must not extend beyond the axis.
      bounds[count - 1] = min(bounds[count - 1], max(span, bounds[count - 2] + 1e6))
    }
    return (bounds, slices)
  }

  var timeMarks: [TimeMark] {
    var marks: [TimeMark] = []
    func time(_ instant: Instant) -> Double { Double((instant - started).wholeNanoseconds) }
    for site in sites {
      let name = site.serial.isEmpty ? site.name : site.serial
      for attachment in site.attachments {
        let kind = attachment.offeredProtocols ? TimeMark.Kind.plug : .flicker
        let what = attachment.offeredProtocols ? "plugged in" : "appeared without protocols"
        marks.append(TimeMark(kind: kind, time: time(attachment.from), text: "\(name) \(what)"))
        guard let to = attachment.to, attachment.end != BurstSite.runEnd else { continue }
        marks.append(TimeMark(kind: .unplug, time: time(to), text: "\(name): \(attachment.end)"))
      }
    }
    let length = Double(series.length.wholeNanoseconds)
    for (index, slice) in series.slices.enumerated() where slice.errors > 0 {
      let at = (Double(index) + 0.5) * length
      marks.append(
        TimeMark(
          kind: .error, time: min(at, span),
          text: "\(slice.errors.counted("error")) about \(FixedText.time(at)) after the start"))
    }
    for phase in phases {
      marks.append(TimeMark(kind: .phase, time: Double(phase.from.wholeNanoseconds), text: phase.pace))
    }
    if warmUpTime > .zero {
      let at = Double(warmUpTime.wholeNanoseconds)
      marks.append(TimeMark(kind: .warm, time: at, text: "measured from here on"))
    }
    return marks
  }

  var flowLines: [(style: String, name: String, rates: [Double])] {
    let (bounds, slices) = shownSlices
    func rates(_ bytes: (ThroughputSlice) -> Int) -> [Double] {
      slices.enumerated().map { index, slice in
        Double(bytes(slice)) / max((bounds[index + 1] - bounds[index]) / 1e9, 1e-9)
      }
    }
    var lines = [(style: "line0", name: "sent", rates: rates(\.sent))]
    if plan.verification != "none" || unaskedBytes > 0 {
      lines.append((style: "line1", name: "received", rates: rates(\.received)))
    }
    return lines
  }

  func throughputChart(_ width: Plot.Width) -> String {
    let lines = flowLines
    let goals = goals(onTimes: false)
    let (bounds, slices) = shownSlices
    var plot = Plot(
      width, x: Axis(to: span, .time, marks: width.marks),
      y: Axis(to: (lines.flatMap(\.rates) + goals.map(\.at)).reduce(0, max) * 1.05, .rate, marks: 4),
      height: Self.height)
    if series.slices.isEmpty { plot.note("no burst was sent") }
    for line in lines { plot.steps("\(line.style) \(line.name)", bounds: bounds, line.rates) }
    for (index, slice) in slices.enumerated() {
      let rates = lines.map { "\($0.name) \(FixedText.rate($0.rates[index]))" }
      plot.strip(
        "hover", from: bounds[index], to: bounds[index + 1],
        "from \(FixedText.time(bounds[index])): \(rates.joined(separator: ", ")), "
          + "\(slice.bursts.counted("burst")) completed, \(slice.errors.counted("error"))")
    }
    plot.marks(timeMarks)
    for goal in goals { plot.goal(goal.at, goal.text, isMet: goal.isMet) }
    return plot.svg("throughput over time")
  }

  /// The height of a chart, chosen so that both time charts fit on the first screen.
  private static let height = 160.0

  /// The number of shades in the heat map. The darkest shade is used for the cell with the most bursts.
  static let shades = 5

  func latencyMapChart(_ width: Plot.Width) -> String {
    let cells = map.cells
    let rows = cells.map { $0[1] }
    let goals = goals(onTimes: true)
    let (low, high) = (rows.min() ?? 40, rows.max() ?? 40)
    let ends = [Double(LatencyColumn.lowest(low)), Double(LatencyColumn.lowest(high + 1))] + goals.map(\.at)
    var plot = Plot(
      width, x: Axis(to: span, .time, marks: width.marks),
      y: Axis(logarithmic: ends.reduce(ends[0], min), ends.reduce(ends[1], max), .time, height: Self.height),
      height: Self.height)
    if cells.isEmpty { plot.note("no burst was completed") }
    let bounds = bounds(map.length, map.slices.count)
    let most = Double(cells.map { $0[2] }.max() ?? 1)
    for cell in cells {
      let shade = Self.shade(Double(cell[2]), of: most)
      let range = (Double(LatencyColumn.lowest(cell[1])), Double(LatencyColumn.lowest(cell[1] + 1)))
      plot.cell(
        "heat s\(shade)", x: (bounds[cell[0]], bounds[cell[0] + 1]), y: range,
        data: " data-cell=\"\(cell[0]) \(cell[1]) \(cell[2])\"",
        "from \(FixedText.time(bounds[cell[0]])): \(cell[2].counted("burst")) took "
          + "\(FixedText.time(range.0)) to \(FixedText.time(range.1))")
    }
    plot.marks(timeMarks)
    for goal in goals { plot.goal(goal.at, goal.text, isMet: goal.isMet) }
    return plot.svg("latency over time")
  }

  /// Returns the shade for a count. The highest count has shade 5. Each time the count falls by a constant factor, the
  /// shade falls by one.
  private static func shade(_ count: Double, of most: Double) -> Int {
    var (shade, bound) = (shades, most)
    // With this factor, a single burst gets the lightest shade.
    let factor = max(2, most.squareRoot().squareRoot())
    while shade > 1, count < bound / factor * 1.5 {
      bound /= factor
      shade -= 1
    }
    return shade
  }

  var shownSites: ArraySlice<Site> { sites.prefix(40) }

  func attachmentChart(_ width: Plot.Width) -> String {
    func time(_ instant: Instant) -> Double { Double((instant - started).wholeNanoseconds) }
    let all = shownSites.flatMap(\.attachments)
    let from = min(0, all.map { time($0.from) }.min() ?? 0)
    let to = max(span, all.compactMap { $0.to.map(time) }.max() ?? span)
    let rows = max(1, shownSites.count)
    let labels = Self.labels(shownSites, width).enumerated().map { (Double(rows - $0.offset) - 0.5, $0.element) }
    var plot = Plot(
      width, x: Axis(from: from, to: to, .time, marks: width.marks), y: Axis(rows: labels, high: Double(rows)),
      height: Double(rows) * 30 + 50)
    if all.isEmpty { plot.note("no accessory connected") }
    for (row, site) in shownSites.enumerated() {
      let middle = Double(rows - row) - 0.5
      for attachment in site.attachments {
        let end = attachment.to ?? attachment.from
        let offer = attachment.offeredProtocols ? "" : "no protocols, "
        plot.cell(
          attachment.offeredProtocols ? "whole" : "empty", x: (time(attachment.from), time(end)),
          y: (middle - 0.3, middle + 0.3), data: " data-from=\"\(time(attachment.from))\" data-to=\"\(time(end))\"",
          "\(site.name) from \(FixedText.time(time(attachment.from))) to \(FixedText.time(time(end))): \(offer)"
            + "\(attachment.completed) completed, \(attachment.lost) lost (\(attachment.end))")
      }
    }
    plot.marks(timeMarks.filter { $0.kind == .error || $0.kind == .warm })
    return plot.svg("attachments")
  }

  /// Returns the names of the rows, shortened but still distinct. The table shows the full names.
  private static func labels(_ sites: ArraySlice<Site>, _ width: Plot.Width) -> [String] {
    let room = width == .wide ? 10 : 7
    var seen: Set<String> = []
    return sites.enumerated().map { row, site in
      let name = site.serial.isEmpty ? site.name : site.serial
      let short = name.count > room ? "…\(name.suffix(room - 1))" : name
      return seen.insert(short).inserted ? short : "\(row + 1) \(short.suffix(room - 3))"
    }
  }

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
        let percent = FixedText.short(line.quantile * 100, places: 5)
        plot.dot(
          style, x: point.x, y: point.y,
          data: " data-series=\"\(name)\" data-quantile=\"\(line.quantile)\" data-value=\"\(line.value)\"",
          "\(name): \(percent) % within \(FixedText.time(Double(line.value)))")
      }
    }
    for goal in goals { plot.goal(goal.at, goal.text, isMet: goal.isMet) }
    return plot.svg("latency by percentile")
  }
}
