import AccessoryCore
import Glibc

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

  /// Creates a logarithmic axis for values from `low` to `high`, which must both be greater than 0.
  package init(logarithmic low: Double, _ high: Double, _ unit: Unit) {
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
    let digits: [Double] = decades > 3.5 ? [1] : [1, 2, 5]
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

  /// Creates an axis with the given names at positions from 0 to `high`.
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
