import AccessoryCore
import AccessoryFormats
import AccessoryProfiles

/// A regular expression for a request that differs between two recordings of the same actions.
///
/// Each part that differs becomes a group. A part that consists of digits in both recordings becomes a group that
/// matches a whole number. Any other part becomes a group that matches any bytes, of a fixed length if the part has the
/// same length in both recordings.
///
/// ```swift
/// let wildcard = RecordedWildcard(Array("SET 9;A".utf8), Array("SET 12;A".utf8))
/// wildcard?.pattern.text                                                             // SET (\d+);A
/// wildcard?.answer(Array("OK 9".utf8), Array("OK 12".utf8))                          // OK ${1}
/// ```
struct RecordedWildcard {
  let pattern: BytePattern
  /// The bytes that belong to each group in both recordings.
  private let values: [(one: [UInt8], other: [UInt8])]

  /// Returns nil if the requests are equal, have no byte in common, or are too long for a regular expression.
  init?(_ one: [UInt8], _ other: [UInt8]) {
    guard one != other else { return nil }
    var (text, values, common) = ("", [(one: [UInt8], other: [UInt8])](), 0)
    var at = 0
    for range in Self.differences(one, other) {
      common += range.one.lowerBound - at
      text += one[at..<range.one.lowerBound].map(Self.literal).joined()
      let value = (one: Array(one[range.one]), other: Array(other[range.other]))
      let areNumbers = [value.one, value.other].allSatisfy { !$0.isEmpty && $0.allSatisfy(Self.isDigit) }
      text +=
        areNumbers ? "(\\d+)" : value.one.count == value.other.count ? "(.{\(value.one.count)})" : "(.*)"
      values.append(value)
      at = range.one.upperBound
    }
    common += one.count - at
    text += one[at...].map(Self.literal).joined()
    guard common > 0, let pattern = try? BytePattern(text), pattern.match(one) != nil, pattern.match(other) != nil
    else { return nil }
    (self.pattern, self.values) = (pattern, values)
  }

  /// Returns the answer as a template that inserts the request's groups, or nil if inserting the groups cannot produce
  /// both answers.
  func answer(_ one: [UInt8], _ other: [UInt8]) -> ScriptTemplate? {
    var (text, at, otherAt) = ("", 0, 0)
    while at < one.count || otherAt < other.count {
      let group = values.indices.first { index in
        let (value, twin) = values[index]
        return value != twin && one[at...].starts(with: value) && other[otherAt...].starts(with: twin)
      }
      if let group {
        text += "${\(group + 1)}"
        at += values[group].one.count
        otherAt += values[group].other.count
      } else if at < one.count, otherAt < other.count, one[at] == other[otherAt] {
        text += Self.plain(one[at], before: at + 1 < one.count ? one[at + 1] : nil)
        (at, otherAt) = (at + 1, otherAt + 1)
      } else {
        return nil
      }
    }
    return try? ScriptTemplate(text)
  }

  // MARK: Differences

  /// Returns the parts that differ. If the requests have the same length, any number of parts may differ. Otherwise,
  /// there is a single part that differs, between a common beginning and a common end.
  private static func differences(
    _ one: [UInt8], _ other: [UInt8]
  ) -> [(one: Range<Int>, other: Range<Int>)] {
    guard one.count == other.count else {
      let begin = zip(one, other).prefix { $0 == $1 }.count
      let end = zip(one[begin...].reversed(), other[begin...].reversed()).prefix { $0 == $1 }.count
      return [widened(begin..<one.count - end, begin..<other.count - end, one, other)]
    }
    var ranges: [(one: Range<Int>, other: Range<Int>)] = []
    for index in one.indices where one[index] != other[index] {
      let range = widened(index..<index + 1, index..<index + 1, one, other)
      if let last = ranges.last, range.one.lowerBound <= last.one.upperBound {
        let whole = last.one.lowerBound..<max(last.one.upperBound, range.one.upperBound)
        ranges[ranges.count - 1] = (whole, whole)
      } else {
        ranges.append(range)
      }
    }
    return ranges
  }

  /// Returns the range, extended to include adjacent digits if it contains only digits in both recordings.
  private static func widened(
    _ range: Range<Int>, _ twin: Range<Int>, _ one: [UInt8], _ other: [UInt8]
  ) -> (one: Range<Int>, other: Range<Int>) {
    guard one[range].allSatisfy(isDigit), other[twin].allSatisfy(isDigit) else { return (range, twin) }
    // The bytes next to the range either are the same in both recordings or belong to another range, which is extended
    // in the same way.
    let before = zip(one[..<range.lowerBound].reversed(), other[..<twin.lowerBound].reversed())
      .prefix { isDigit($0) && isDigit($1) }.count
    let after = zip(one[range.upperBound...], other[twin.upperBound...]).prefix { isDigit($0) && isDigit($1) }.count
    return (
      range.lowerBound - before..<range.upperBound + after, twin.lowerBound - before..<twin.upperBound + after
    )
  }

  private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

  private static func literal(_ byte: UInt8) -> String {
    let letter = String(UnicodeScalar(byte))
    guard 0x20..<0x7F ~= byte else { return "\\x\(Hex.number(byte))" }
    return ".^$*+?()[]{}|\\".contains(letter) ? "\\\(letter)" : letter
  }

  private static func plain(_ byte: UInt8, before next: UInt8?) -> String {
    let isStart = byte == UInt8(ascii: "$") && next == UInt8(ascii: "{")
    let isText = 0x20..<0x7F ~= byte || [0x09, 0x0A, 0x0D].contains(byte)
    return isText && !isStart ? String(UnicodeScalar(byte)) : "${hex:\(Hex.number(byte))}"
  }
}
