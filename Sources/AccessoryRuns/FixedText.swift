import AccessoryCore

/// Formats numbers for reports.
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

  /// Returns a number with only as many decimal places as it needs, up to three, such as "2" or "0.25".
  package static func short(_ value: Double) -> String {
    let digits = text(value, places: 3)
    return String(digits.reversed().drop { $0 == "0" }.drop { $0 == "." }.reversed())
  }

  /// Returns a number with thousands separators, such as "1,234,567".
  package static func grouped(_ value: Int) -> String { value.groupedDigits }

  /// Returns nanoseconds converted to a suitable unit, such as "12.5 µs", "1.25 ms" or "2.000 s".
  package static func time(_ nanoseconds: Double, unlike other: Double? = nil) -> String {
    let (unit, name, places) =
      switch nanoseconds.magnitude {
      case ..<1_000: (1.0, "ns", 0)
      case ..<1_000_000: (1e3, "µs", 1)
      case ..<1_000_000_000: (1e6, "ms", 2)
      default: (1e9, "s", 3)
      }
    return "\(text(nanoseconds / unit, places: places, unlike: other.map { $0 / unit })) \(name)"
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
    let (unit, name) =
      switch bytesPerSecond.magnitude {
      case ..<1_000: (1.0, "B/s")
      case ..<1_000_000: (1e3, "kB/s")
      case ..<1_000_000_000: (1e6, "MB/s")
      default: (1e9, "GB/s")
      }
    let places = unit == 1 ? 0 : 2
    return "\(text(bytesPerSecond / unit, places: places, unlike: other.map { $0 / unit })) \(name)"
  }
}
