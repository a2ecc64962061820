import AccessoryCore

package enum FixedText {
  /// Returns a number rounded to the given number of decimal places, such as "0.830". Adds decimal places if `other`,
  /// such as a limit that the number narrowly exceeds, would otherwise look the same.
  package static func text(_ value: Double, places: Int, unlike other: Double? = nil) -> String {
    let fewest = text(value, exactly: places)
    guard let other, value != other, fewest == text(other, exactly: places), places < 12 else { return fewest }
    return text(value, places: places + 1, unlike: other)
  }

  private static func text(_ value: Double, exactly places: Int) -> String {
    var scale = 1.0
    for _ in 0..<places { scale *= 10 }
    let scaled = (value.magnitude * scale).rounded()
    guard scaled < 9e18 else { return "\(value)" }
    let (whole, rest) = Int(scaled).quotientAndRemainder(dividingBy: Int(scale))
    let sign = value < 0 && scaled > 0 ? "-" : ""
    if places == 0 { return "\(sign)\(whole)" }
    return "\(sign)\(whole).\("\(rest)".zeroPadded(to: places))"
  }

  /// Returns a number with only as many decimal places as it needs, up to `places`, such as "2" or "0.25".
  package static func short(_ value: Double, places: Int = 3) -> String {
    let digits = text(value, places: places)
    return String(digits.reversed().drop { $0 == "0" }.drop { $0 == "." }.reversed())
  }

  /// Returns a number with thousands separators, such as "1,234,567".
  package static func grouped(_ value: Int) -> String { value.groupedDigits }

  /// Returns nanoseconds converted to a suitable unit, such as "12.5 µs", "1.25 ms" or "2.000 s".
  package static func time(_ nanoseconds: Double, unlike other: Double? = nil) -> String {
    scaled(nanoseconds, other, [(1, "ns", 0), (1e3, "µs", 1), (1e6, "ms", 2), (1e9, "s", 3)])
  }

  /// Returns a duration such as "0.412 s" or "1 h 2 min 3 s".
  package static func span(_ duration: Duration) -> String {
    let seconds = Int(duration.inSeconds.rounded())
    if seconds < 120 { return "\(text(duration.inSeconds, places: 3)) s" }
    let hours = seconds >= 3_600 ? "\(grouped(seconds / 3_600)) h " : ""
    return "\(hours)\(seconds / 60 % 60) min \(seconds % 60) s"
  }

  /// Returns a rate in bytes per second, converted to a suitable unit, such as "7.50 kB/s".
  package static func rate(_ bytesPerSecond: Double, unlike other: Double? = nil) -> String {
    scaled(bytesPerSecond, other, [(1, "B/s", 0), (1e3, "kB/s", 2), (1e6, "MB/s", 2), (1e9, "GB/s", 2)])
  }

  /// Returns a number in the largest unit that is not larger than the number.
  private static func scaled(
    _ value: Double, _ other: Double?, _ units: [(size: Double, name: String, places: Int)]
  ) -> String {
    let unit = units.last { value.magnitude >= $0.size } ?? units[0]
    return "\(text(value / unit.size, places: unit.places, unlike: other.map { $0 / unit.size })) \(unit.name)"
  }
}

package enum CSVText {
  /// Returns a CSV cell that conforms to RFC 4180. Text that a spreadsheet would treat as a formula, such as the name
  /// of a hostile accessory, is escaped so that it remains text.
  package static func cell(_ text: String) -> String {
    var text = String(text.printable(keeping: ["\t", "\n"]))
    if let first = text.first, "=+-@".contains(first), Double(text) == nil { text = "'\(text)" }
    guard text.contains(where: { ",\"\n\r".contains($0) }) else { return text }
    return "\"\(text.replacing("\"", with: "\"\""))\""
  }
}

/// A value that a run has measured or counted.
public struct ReportFigure: Sendable {
  /// The kind of value, which determines how the value is formatted.
  public enum Unit: Sendable {
    case time
    case rate
    case count
    case number
  }

  /// The name of the figure.
  public let name: String
  /// The value.
  public let value: Double
  package let unit: Unit
  /// Whether a higher value is better, or nil if neither higher nor lower is better.
  package let moreIsBetter: Bool?
  let isMain: Bool

  /// Creates a figure.
  public init(_ name: String, _ value: Double, _ unit: Unit, moreIsBetter: Bool? = nil, isMain: Bool = true) {
    (self.name, self.value, self.unit) = (name, value, unit)
    (self.moreIsBetter, self.isMain) = (moreIsBetter, isMain)
  }

  /// Creates a count.
  public init(_ name: String, _ count: Int, moreIsBetter: Bool? = nil, isMain: Bool = true) {
    self.init(name, Double(count), .count, moreIsBetter: moreIsBetter, isMain: isMain)
  }

  var text: String { unit.text(value) }
}

extension ReportFigure.Unit {
  package func text(_ value: Double) -> String {
    switch self {
    case .time where value >= 36_000e9: FixedText.text(value / 3_600e9, places: 1) + " h"
    case .time where value >= 600e9: FixedText.text(value / 60e9, places: 1) + " min"
    case .time: FixedText.time(value)
    case .rate: FixedText.rate(value)
    case .count: FixedText.grouped(Int(value))
    case .number: FixedText.text(value, places: 1)
    }
  }
}
