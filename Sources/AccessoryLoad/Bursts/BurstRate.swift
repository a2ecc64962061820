import AccessoryFormats

/// A rate as written by users, in bursts or bytes per second.
///
/// ```swift
/// try BurstRate("50")           // 50 bursts a second
/// try BurstRate("7500B/s")      // as many bursts as make 7,500 bytes a second
/// try BurstRate("100kB/s")      // the same for 100,000 bytes a second
/// ```
package struct BurstRate: Equatable, Sendable {
  private enum Unit: Equatable {
    case bursts
    case bytes
  }

  private let value: Double
  private let unit: Unit

  package init(_ text: String) throws(OptionError) {
    let units: [(name: String, unit: Unit, size: Double)] = [
      ("MB/s", .bytes, 1e6), ("kB/s", .bytes, 1e3), ("KB/s", .bytes, 1e3), ("B/s", .bytes, 1), ("/s", .bursts, 1),
      ("", .bursts, 1),
    ]
    for (name, unit, size) in units where text.hasSuffix(name) {
      let digits = text.dropLast(name.count)
      let isNumber = !digits.isEmpty && digits.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
      guard isNumber, let number = Double(digits), 0.001...1e9 ~= number * size else { break }
      value = number * size
      self.unit = unit
      return
    }
    throw OptionError(
      "'\(Excerpt.of(text))' is not a rate: write bursts per second, such as 50, or bytes per second, such as 7500B/s "
        + "or 100kB/s")
  }

  /// Converts the rate to bursts per second for bursts of the given size.
  package func burstsPerSecond(size: Int) -> Double { unit == .bursts ? value : value / Double(size) }
}
