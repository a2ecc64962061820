/// Durations as users write them in profiles, in scenarios and on the command line. `250ms`, `1.5s`, `2m`.
///
/// A duration is a number with an optional fraction and a unit: `ns`, `us`, `ms`, `s`, `m` or `h`. The unit is required
/// because some users would mean seconds by `--timeout 10` and others milliseconds.
///
/// ```swift
/// try DurationText.parse("1.5s")                  // .milliseconds(1500)
/// DurationText.format(.milliseconds(1500))        // "1.5s"
/// ```
public enum DurationText {
  static let units: [(name: String, nanoseconds: Int64)] = [
    ("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
  ]

  /// The longest accepted duration: one year. Longer durations are probably typos, and nanoseconds must fit in 64 bits.
  public static let longest = Duration.seconds(365 * 24 * 3_600)

  /// Reads a duration. The error describes the mistake and shows a valid form.
  public static func parse(_ text: String) throws(OptionError) -> Duration {
    let characters = text.utf8
    if characters.first == UInt8(ascii: "-") {
      throw OptionError("'\(text)' is negative: a duration is zero or more, such as '250ms'")
    }
    let number = characters.prefix { isDigit($0) || $0 == UInt8(ascii: ".") }
    let unit = String(text[number.endIndex...])
    guard let digits = Digits(String(text[..<number.endIndex])) else {
      throw OptionError("'\(text)' is not a duration: write a number and a unit, such as '250ms', '1.5s' or '2m'")
    }
    guard !unit.isEmpty else {
      throw OptionError("'\(text)' has no unit: write '\(text)ms', '\(text)s' or '\(text)m'")
    }
    guard let nanoseconds = units.first(where: { $0.name == unit })?.nanoseconds else {
      throw OptionError("'\(text)' has the unknown unit '\(unit)': the units are ns, us, ms, s, m and h")
    }
    return try digits.times(nanoseconds, in: text)
  }

  /// Writes a duration so that ``parse(_:)`` restores it exactly. The unit is hours or minutes if this gives a whole
  /// number. Otherwise, the unit is seconds, milliseconds or microseconds, with as many decimals as needed.
  public static func format(_ duration: Duration) -> String {
    let total = duration.wholeNanoseconds
    if total == 0 { return "0ms" }
    let size = total.magnitude
    for (name, nanoseconds) in units.reversed() where size >= UInt64(nanoseconds) {
      let unit = UInt64(nanoseconds)
      if nanoseconds > 1_000_000_000, size % unit != 0 { continue }
      let fraction = size % unit == 0 ? "" : "." + decimals(of: size % unit, unit)
      return "\(total < 0 ? "-" : "")\(size / unit)\(fraction)\(name)"
    }
    return "\(total)ns"
  }

  private static func decimals(of rest: UInt64, _ unit: UInt64) -> String {
    var digits = String(unit + rest).dropFirst()
    while digits.last == "0" { digits = digits.dropLast() }
    return String(digits)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private struct Digits {
    var all: String
    var decimals: Int

    init?(_ text: String) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
      all = parts.joined()
      decimals = parts.count == 2 ? parts[1].utf8.count : 0
      while decimals > 0, all.last == "0" {
        all.removeLast()
        decimals -= 1
      }
    }

    func times(_ unit: Int64, in text: String) throws(OptionError) -> Duration {
      var divisor: Int64 = 1
      for _ in 0..<min(decimals, 19) {
        let (next, overflow) = divisor.multipliedReportingOverflow(by: 10)
        divisor = overflow ? .max : next
      }
      let significant = all.drop { $0 == "0" }
      guard significant.utf8.count <= 18, let value = Int64("0" + significant) else {
        throw OptionError(
          decimals > 9
            ? "'\(text)' is more precise than a nanosecond"
            : "'\(text)' is too long: at most 8760h (a "
              + "year)")
      }
      let (high, low) = value.multipliedFullWidth(by: unit)
      guard divisor > high else { throw OptionError("'\(text)' is too long: at most 8760h (a year)") }
      let (nanoseconds, rest) = divisor.dividingFullWidth((high, low))
      guard rest == 0 else { throw OptionError("'\(text)' is more precise than a nanosecond") }
      guard Duration.nanoseconds(nanoseconds) <= longest else {
        throw OptionError("'\(text)' is too long: at most 8760h (a year)")
      }
      return .nanoseconds(nanoseconds)
    }
  }
}
