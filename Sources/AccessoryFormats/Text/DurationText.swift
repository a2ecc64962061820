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
    let number = characters.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: ".") }
    let unit = String(text[number.endIndex...])
    let parts = text[..<number.endIndex].split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty }) else {
      throw OptionError("'\(text)' is not a duration: write a number and a unit, such as '250ms', '1.5s' or '2m'")
    }
    guard !unit.isEmpty else {
      throw OptionError("'\(text)' has no unit: write '\(text)ms', '\(text)s' or '\(text)m'")
    }
    guard let nanoseconds = units.first(where: { $0.name == unit })?.nanoseconds else {
      throw OptionError("'\(text)' has the unknown unit '\(unit)': the units are ns, us, ms, s, m and h")
    }
    var decimals = parts.count == 2 ? parts[1] : ""
    while decimals.last == "0" { decimals.removeLast() }
    let tooPrecise = OptionError("'\(text)' is more precise than a nanosecond")
    let tooLong = OptionError("'\(text)' is too long: at most 8760h (a year)")
    // No multiple of a nanosecond has more decimals than that, even in hours.
    guard decimals.count <= 13 else { throw tooPrecise }
    let digits = (parts[0] + decimals).drop { $0 == "0" }
    guard digits.count <= 24, let value = Int128("0" + digits) else { throw decimals.count > 9 ? tooPrecise : tooLong }
    let divisor = decimals.reduce(Int128(1)) { divisor, _ in divisor * 10 }
    let (total, rest) = (value * Int128(nanoseconds)).quotientAndRemainder(dividingBy: divisor)
    guard rest == 0 else { throw tooPrecise }
    guard total <= longest.wholeNanoseconds else { throw tooLong }
    return .nanoseconds(Int64(total))
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
}
