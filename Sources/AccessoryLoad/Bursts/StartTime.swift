import AccessoryCore
import AccessoryFormats

/// The time given by `--start-at`, at which load generators on several machines begin together.
///
/// ```swift
/// try StartTime("2026-11-23T01:30:00Z")   // RFC 3339, also with +02:00 and parts of a second
/// try StartTime("1795397400.5")           // seconds since 1970, as `date +%s` prints
/// try StartTime("+10s")                   // from now on, for one machine alone
/// ```
package enum StartTime: Equatable, Sendable {
  case at(Int)
  case after(Duration)

  package init(_ text: String) throws(OptionError) {
    if text.hasPrefix("+") {
      do { self = .after(try DurationText.parse(String(text.dropFirst()))) } catch { throw OptionError("\(error)") }
      return
    }
    guard let microseconds = Self.seconds(text) ?? Self.date(text), 0...1 << 52 ~= microseconds else {
      throw OptionError("expected a time such as 2026-11-23T01:30:00Z, seconds since 1970, or +10s")
    }
    self = .at(microseconds)
  }

  package func microseconds(now: Int) -> Int {
    switch self {
    case .at(let time): time
    case .after(let time): now + Int(time.wholeNanoseconds / 1_000)
    }
  }

  /// Formats a time as RFC 3339 in UTC, with milliseconds unless they are zero.
  package static func text(_ microseconds: Int) -> String {
    let part = microseconds % 1_000_000 / 1_000
    let time = CalendarTime(secondsSince1970: microseconds / 1_000_000).text
    return "\(time)\(part > 0 ? ".\("\(part)".zeroPadded(to: 3))" : "")Z"
  }

  // MARK: Reading

  private static func seconds(_ text: String) -> Int? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, let whole = digits(parts[0]), whole < 1 << 40 else { return nil }
    guard parts.count == 2 else { return whole * 1_000_000 }
    return fraction(parts[1]).map { whole * 1_000_000 + $0 }
  }

  private static func date(_ text: String) -> Int? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, [UInt8(ascii: "T"), UInt8(ascii: "t"), UInt8(ascii: " ")].contains(bytes[10]),
      bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[13] == UInt8(ascii: ":"),
      bytes[16] == UInt8(ascii: ":")
    else { return nil }
    func number(_ range: Range<Int>, _ allowed: ClosedRange<Int>) -> Int? {
      digits(String(decoding: bytes[range], as: UTF8.self)).flatMap { allowed ~= $0 ? $0 : nil }
    }
    guard let year = number(0..<4, 1970...2112), let month = number(5..<7, 1...12), let day = number(8..<10, 1...31),
      let hour = number(11..<13, 0...23), let minute = number(14..<16, 0...59), let second = number(17..<19, 0...59)
    else { return nil }
    var rest = String(decoding: bytes[19...], as: UTF8.self)[...]
    var part = 0
    if rest.first == "." {
      let places = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
      guard let read = fraction(places) else { return nil }
      part = read
      rest = rest.dropFirst(1 + places.count)
    }
    guard let offset = offset(rest), let seconds = CalendarTime.seconds(year, month, day, hour, minute, second) else {
      return nil
    }
    return (seconds - offset) * 1_000_000 + part
  }

  /// Parses a UTC offset such as `Z` or `+02:00`, and returns it in seconds.
  private static func offset(_ text: Substring) -> Int? {
    if text == "Z" || text == "z" { return 0 }
    guard let sign = text.first, sign == "+" || sign == "-" else { return nil }
    let parts = text.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.count == 2 }), let hours = digits(parts[0]), hours < 24,
      let minutes = digits(parts[1]), minutes < 60
    else { return nil }
    return (hours * 60 + minutes) * (sign == "-" ? -60 : 60)
  }

  private static func digits(_ text: some StringProtocol) -> Int? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(String(text)) : nil
  }

  /// Parses a fraction of a second, and returns it in whole microseconds.
  private static func fraction(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.count <= 12, digits(text) != nil else { return nil }
    return digits((String(text) + "000000").prefix(6))
  }
}
