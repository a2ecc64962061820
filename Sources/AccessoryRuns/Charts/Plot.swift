import AccessoryCore
import AccessoryFormats
import Glibc

/// An SVG chart with two axes, without scripts or external style sheets, so that a page can be a single file. Each
/// chart is drawn for the width at which it is shown, so that its text has the same size as the page's text.
///
/// The SVG also contains the values as `data-` attributes, which a test compares with the report.
package struct Plot {
  /// The width at which a page is viewed: that of a window or a sheet of paper, or that of a mobile phone.
  package enum Width: String, CaseIterable {
    case wide, narrow

    package var points: Double { self == .wide ? 860 : 328 }
    /// The approximate number of marks that fit on a horizontal axis.
    package var marks: Int { self == .wide ? 8 : 3 }
    /// The approximate number of names that fit on a horizontal axis.
    package var names: Int { self == .wide ? 7 : 2 }
  }

  package let width: Width
  package let x: Axis
  package let y: Axis
  package var height = 240.0
  private var parts: [String] = []

  private var left: Double { width == .wide ? 76 : 66 }
  private var right: Double { 14 }
  private let top = 16.0
  private let bottom: Double
  /// The positions of the goal labels drawn so far, which later labels must not overlap.
  private var goals: [(y: Double, isLeft: Bool)] = []

  package init(_ width: Width, x: Axis, y: Axis, height: Double = 240) {
    (self.width, self.x, self.y, self.height) = (width, x, y, height)
    // Labels below the chart can have two lines.
    bottom = x.marks.contains { $0.text.contains("\n") } ? 40 : 26
    drawAxes()
  }

  private var plotWidth: Double { width.points - left - right }
  private var plotHeight: Double { height - top - bottom }

  package func xPlace(_ value: Double) -> Double { left + x.place(value) * plotWidth }
  package func yPlace(_ value: Double) -> Double { height - bottom - y.place(value) * plotHeight }

  private mutating func drawAxes() {
    let (from, to) = (left, width.points - right)
    for mark in y.marks {
      let place = Self.number(yPlace(mark.value))
      parts.append(
        "<line class=\"grid\" x1=\"\(Self.number(from))\" x2=\"\(Self.number(to))\" y1=\"\(place)\" y2=\"\(place)\"/>"
          + "<text class=\"y\" data-value=\"\(mark.value)\" x=\"\(Self.number(from - 6))\" y=\"\(place)\" "
          + "text-anchor=\"end\" dy=\"4\">\(MarkupText.escaped(mark.text))</text>")
    }
    for (index, mark) in x.marks.enumerated() {
      let place = xPlace(mark.value)
      // Makes sure that the first and last labels stay inside the picture.
      let anchor = place > to - 24 && index > 0 ? "end" : index == 0 && place < from + 24 ? "start" : "middle"
      let lines = mark.text.split(separator: "\n")
      let texts = lines.enumerated().map { line, text in
        "<text class=\"x\" data-value=\"\(mark.value)\" x=\"\(Self.number(place))\" "
          + "y=\"\(Self.number(height - 8 - Double(lines.count - 1 - line) * 15))\" text-anchor=\"\(anchor)\">"
          + "\(MarkupText.escaped(String(text)))</text>"
      }
      parts.append(
        "<line class=\"tick\" x1=\"\(Self.number(place))\" x2=\"\(Self.number(place))\" "
          + "y1=\"\(Self.number(height - bottom))\" y2=\"\(Self.number(height - bottom + 4))\"/>" + texts.joined())
    }
  }

  package mutating func line(_ style: String, _ points: [(x: Double, y: Double)]) {
    path(style, points.map { (xPlace($0.x), yPlace($0.y)) })
  }

  /// Draws a stepped line. Each value of a stepped line spans the distance from one bound to the next.
  package mutating func steps(_ style: String, bounds: [Double], _ values: [Double]) {
    var points: [(Double, Double)] = []
    for (index, value) in values.enumerated() {
      points.append((xPlace(bounds[index]), yPlace(value)))
      points.append((xPlace(bounds[index + 1]), yPlace(value)))
    }
    path(style, points, values: values)
  }

  private mutating func path(_ style: String, _ points: [(Double, Double)], values: [Double] = []) {
    guard !points.isEmpty else { return }
    let d = points.enumerated().map { index, point in
      "\(index == 0 ? "M" : "L")\(Self.number(point.0)) \(Self.number(point.1))"
    }
    let data =
      values.isEmpty ? "" : " data-values=\"\(values.map { FixedText.text($0, places: 3) }.joined(separator: " "))\""
    parts.append("<path class=\"line \(style)\"\(data) d=\"\(d.joined(separator: " "))\"/>")
  }

  package mutating func dot(_ style: String, x: Double, y: Double, data: String = "", _ title: String) {
    parts.append(
      "<circle class=\"dot \(style)\"\(data) cx=\"\(Self.number(xPlace(x)))\" cy=\"\(Self.number(yPlace(y)))\" r=\"3\">"
        + "\(Self.title(title))</circle>")
  }

  package mutating func cell(
    _ style: String, x: (Double, Double), y: (Double, Double), data: String = "", _ title: String
  ) {
    let (x0, x1, y0, y1) = (xPlace(x.0), xPlace(x.1), yPlace(y.1), yPlace(y.0))
    parts.append(
      "<rect class=\"\(style)\"\(data) x=\"\(Self.number(x0))\" y=\"\(Self.number(y0))\" "
        + "width=\"\(Self.number(max(1, x1 - x0)))\" height=\"\(Self.number(max(1, y1 - y0)))\">"
        + "\(Self.title(title))</rect>")
  }

  package mutating func strip(_ style: String, from: Double, to: Double, _ title: String) {
    cell(style, x: (from, to), y: (y.low, y.high), title)
  }

  /// Draws vertical lines, each with a symbol above the chart. Lines that are too close together are merged.
  package mutating func marks(_ marks: [TimeMark]) {
    for kind in TimeMark.Kind.allCases {
      var drawn: [(place: Double, times: [Double], texts: [String])] = []
      for mark in marks where mark.kind == kind && x.low...x.high ~= mark.time {
        let place = xPlace(mark.time)
        if let last = drawn.last, place - last.place < 3 {
          drawn[drawn.count - 1].times.append(mark.time)
          drawn[drawn.count - 1].texts.append(mark.text)
        } else {
          drawn.append((place, [mark.time], [mark.text]))
        }
      }
      // Many full-length lines would hide the chart, so only the top of each line is drawn.
      let isMany = drawn.count > 30
      for (place, times, texts) in drawn {
        let shown = texts.prefix(8) + (texts.count > 8 ? ["and \(texts.count - 8) more"] : [])
        let at = Self.number(place)
        parts.append(
          "<g class=\"mark \(kind.rawValue)\(isMany ? " many" : "")\" data-count=\"\(times.count)\" data-value=\"\(times[0])\">"
            + "<line x1=\"\(at)\" x2=\"\(at)\" y1=\"\(Self.number(top - 4))\" y2=\"\(Self.number(isMany ? top + 4 : height - bottom))\"/>"
            + kind.sign(x: place, y: top - 8 + kind.offset)
            + "\(Self.title(shown.joined(separator: "\n")))</g>")
      }
    }
  }

  /// Draws a goal as a line across the chart. The goal's label does not overlap the labels of other goals.
  package mutating func goal(_ value: Double, _ text: String, isMet: Bool) {
    let (from, to, at) = (left, width.points - right, yPlace(value))
    let isNear = { [goals] (isLeft: Bool) in goals.contains { $0.isLeft == isLeft && abs($0.y - at) < 16 } }
    // The label is placed above the line, or below it if the line is near the top of the chart.
    let below = at < top + 16
    let isLeft = isNear(false)
    let label =
      isLeft && isNear(true)
      ? ""
      : "<text class=\"goal\" x=\"\(Self.number(isLeft ? from + 6 : to - 6))\" y=\"\(Self.number(at + (below ? 13 : -4)))\" "
        + "text-anchor=\"\(isLeft ? "start" : "end")\">\(MarkupText.escaped(text))</text>"
    goals.append((at, isLeft))
    parts.append(
      "<g class=\"goal\(isMet ? "" : " missed")\" data-value=\"\(value)\"><line x1=\"\(Self.number(from))\" "
        + "x2=\"\(Self.number(to))\" y1=\"\(Self.number(at))\" y2=\"\(Self.number(at))\"/>\(label)"
        + "\(Self.title("goal: \(text)\(isMet ? "" : ", missed")"))</g>")
  }

  /// Adds centered text inside the chart, for use when there is no data.
  package mutating func note(_ text: String) {
    parts.append(
      "<text class=\"note\" x=\"\(Self.number(left + plotWidth / 2))\" y=\"\(Self.number(top + plotHeight / 2))\" "
        + "text-anchor=\"middle\">\(MarkupText.escaped(text))</text>")
  }

  package func svg(_ name: String) -> String {
    "<svg class=\"chart \(width.rawValue)\" viewBox=\"0 0 \(Self.number(width.points)) \(Self.number(height))\" role=\"img\" "
      + "aria-label=\"\(MarkupText.escaped(name))\">\n\(parts.joined(separator: "\n"))\n</svg>"
  }

  private static func title(_ text: String) -> String { "<title>\(MarkupText.escaped(text))</title>" }

  private static func number(_ value: Double) -> String { FixedText.text(value, places: 1) }
}

/// An event that is marked on every chart that has a time axis.
package struct TimeMark {
  /// The kind of event. The raw values are the names of classes in the page's style sheet.
  package enum Kind: String, CaseIterable {
    case plug, unplug, flicker, error, phase, warm

    package var title: String {
      switch self {
      case .plug: "plugged in"
      case .unplug: "unplugged"
      case .flicker: "appeared without protocols"
      case .error: "errors"
      case .phase: "a phase begins"
      case .warm: "end of the warm-up"
      }
    }

    /// Draws a triangle for errors, as the live page does, and a dot for everything else.
    package func sign(x: Double, y: Double) -> String {
      let (x, y) = (FixedText.text(x, places: 1), FixedText.text(self == .error ? y - 4 : y, places: 1))
      return self == .error
        ? "<path class=\"sign\" d=\"M\(x) \(y) l4 8 h-8 z\"/>"
        : "<circle class=\"sign\" cx=\"\(x)\" cy=\"\(y)\" r=\"4\"/>"
    }

    /// How far the symbol is moved, so that symbols of different kinds do not overlap.
    package var offset: Double {
      switch self {
      case .plug, .warm: 0
      case .unplug: 2
      case .flicker, .error, .phase: 4
      }
    }
  }

  package let kind: Kind
  /// The time in nanoseconds since the first burst began.
  package let time: Double
  package let text: String

  package init(kind: Kind, time: Double, text: String) {
    (self.kind, self.time, self.text) = (kind, time, text)
  }
}

/// An axis of a chart, which has labels and maps each value to a position.
///
/// Invariants: the range is not empty, and at least two values have labels. All labels on an axis are different.
package struct Axis {
  package typealias Unit = ReportFigure.Unit

  package let low: Double
  package let high: Double
  package let isLogarithmic: Bool
  package let marks: [(value: Double, text: String)]

  /// Creates an axis from `low` to at least `high`, with roughly `count` marks.
  package init(from low: Double = 0, to high: Double, _ unit: Unit, marks count: Int) {
    let high = high > low ? high : low + 1
    let step = Self.step((high - low) / Double(count), unit)
    let first = (low / step - 1e-9).rounded(.up) * step
    var values: [Double] = []
    while let next = Optional(first + Double(values.count) * step), next <= high * (1 + 1e-9), values.count < 100 {
      values.append(next)
    }
    if values.count < 2 { values = [low, high] }
    let size = max(abs(high), abs(low))
    self.init(low: low, high: high, isLogarithmic: false, values.map { ($0, Self.text($0, step, size, unit)) })
  }

  /// Creates a logarithmic axis for values from `low` to `high`, which must both be greater than 0, in a chart of this
  /// height.
  package init(logarithmic low: Double, _ high: Double, _ unit: Unit, height: Double = 240) {
    let low = max(low, 1)
    var bottom = pow(10, floor(log10(low) + 1e-9))
    var top = pow(10, ceil(log10(max(high, low)) - 1e-9))
    if bottom == top { top *= 10 }
    // If all values are close together, narrows the axis so that it does not cover a whole decade.
    for digit in [5.0, 2] where bottom * digit <= low {
      bottom *= digit
      break
    }
    for digit in [0.2, 0.5] where top * digit >= high && top * digit > bottom {
      top *= digit
      break
    }
    let decades = log10(top / bottom)
    // In less space, the label at 2 would overlap the one at 1.
    let digits: [Double] = height / decades < 69 ? [1] : [1, 2, 5]
    var values: [Double] = []
    var decade = pow(10, floor(log10(bottom) + 1e-9))
    while decade <= top * 1.001 {
      values += digits.map { $0 * decade }.filter { $0 >= bottom * 0.999 && $0 <= top * 1.001 }
      decade *= 10
    }
    if values.count < 2 { values = [bottom, top] }
    self.init(low: bottom, high: top, isLogarithmic: true, values.map { ($0, Self.text($0, $0, $0, unit)) })
  }

  /// Creates an axis for percentiles as a number of nines: 0 is 0 %, 1 is 90 %, 2 is 99 %. There are up to `most` nines.
  package init(nines most: Double) {
    let most = max(1, most)
    // On a longer axis, there is no room for a mark at 50 %.
    let half = most <= 3 ? [(0.5 / 0.9, "50 %")] : []
    let nines: [(Double, String)] = [
      (1, "90 %"), (2, "99 %"), (3, "99.9 %"), (4, "99.99 %"), (5, "99.999 %"), (6, "99.9999 %"),
    ]
    let texts = [(0.0, "0 %")] + half + nines
    self.init(
      low: 0, high: most, isLogarithmic: false,
      texts.filter { $0.0 <= most })
  }

  package init(rows: [(Double, String)], high: Double) {
    (low, self.high, isLogarithmic) = (0, high, false)
    marks = rows.map { (value: $0.0, text: $0.1) }
  }

  private init(low: Double, high: Double, isLogarithmic: Bool, _ marks: [(Double, String)]) {
    (self.low, self.high, self.isLogarithmic) = (low, high, isLogarithmic)
    var seen: Set<String> = []
    self.marks = marks.filter { seen.insert($0.1).inserted }.map { (value: $0.0, text: $0.1) }
  }

  /// Returns the position of a value, from 0 at the low end to 1 at the high end.
  package func place(_ value: Double) -> Double {
    let value = min(max(value, low), high)
    return isLogarithmic ? log(value / low) / log(high / low) : (value - low) / (high - low)
  }

  /// Returns the distance between marks: at least `least`, and 1, 2 or 5 times a power of ten. For minutes and hours,
  /// uses distances that are common on clocks.
  private static func step(_ least: Double, _ unit: Unit) -> Double {
    if case .time = unit, least > 10e9 {
      let clock = [15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400].map { $0 * 1e9 }
      if let step = clock.first(where: { $0 >= least }) { return step }
    }
    let power = pow(10, floor(log10(max(least, 1e-9))))
    let step = [1.0, 2, 5, 10].map { $0 * power }.first { $0 >= least * (1 - 1e-9) } ?? power * 10
    // The marks on an axis of counts must be whole numbers.
    switch unit {
    case .count, .number: return max(1, step)
    case .time, .rate: return step
    }
  }

  private static func text(_ value: Double, _ step: Double, _ size: Double, _ unit: Unit) -> String {
    let units: [(name: String, size: Double)] =
      switch unit {
      case .time:
        [(" h", 3_600e9), (" min", 60e9), (" s", 1e9), (" ms", 1e6), (" µs", 1e3), (" ns", 1)]
      case .rate: [(" GB/s", 1e9), (" MB/s", 1e6), (" kB/s", 1e3), (" B/s", 1)]
      case .count, .number: [("", 1)]
      }
    if value == 0 { return "0" }
    // Minutes and hours are used only if every mark is a whole number of them.
    let fitting = units.filter {
      $0.size <= size * 1.001 && ($0.size < 60e9 || step.remainder(dividingBy: $0.size) == 0)
    }
    let chosen = fitting.first ?? units[units.count - 1]
    let places = max(0, Int(ceil(-log10(step / chosen.size) - 1e-9)))
    return FixedText.text(value / chosen.size, places: min(places, 9)) + chosen.name
  }
}
