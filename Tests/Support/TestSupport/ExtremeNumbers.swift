import AccessoryFormats

/// Creates variants of a text with extreme numbers, to test calculations with numbers in files.
public enum ExtremeNumbers {
  /// Numbers near the limits of all numeric types, and text that looks like a number but is not one.
  public static let spellings = [
    "0", "-1", "1", "255", "65536", "4294967295", "4294967296", "9007199254740993", "72057594037927936",
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551616", "1e308", "-1e308",
    "1e-320", "1e999", "0x7fffffffffffffff", "NaN", "Infinity",
  ]

  /// Text with one or more numbers replaced, and a description of the change.
  public struct Variant: Sendable, CustomStringConvertible {
    /// The whole text.
    public let text: String
    /// The inserted numbers and their positions.
    public let description: String
  }

  /// Replaces one number at a time with each of `spellings`. Numbers in quotes, as in `'250ms'`, are also replaced, but
  /// digits at the end of a word are not. With a `step` of 4, each number is replaced with only a quarter of the
  /// spellings, and neighboring numbers with different quarters.
  public static func one(of text: String, spellings: [String] = spellings, step: Int = 1) -> [Variant] {
    numbers(in: Array(text.utf8)).enumerated().flatMap { index, place in
      stride(from: index % step, to: spellings.count, by: step).map { variant(text, [(place, spellings[$0])]) }
    }
  }

  /// Returns `count` texts with about a third of the numbers replaced, each with a random spelling. The same `seed`
  /// always gives the same result.
  public static func several(of text: String, count: Int, seed: UInt64, spellings: [String] = spellings) -> [Variant] {
    let places = numbers(in: Array(text.utf8))
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in
      variant(text, places.filter { _ in random.below(3) == 0 }.map { ($0, spellings[random.below(spellings.count)]) })
    }
  }

  private static func variant(_ text: String, _ changes: [(place: Range<Int>, spelling: String)]) -> Variant {
    var bytes = Array(text.utf8)
    for (place, spelling) in changes.reversed() { bytes.replaceSubrange(place, with: spelling.utf8) }
    let all = Array(text.utf8)
    let said = changes.map { place, spelling in
      "…\(String(decoding: all[max(0, place.lowerBound - 24)..<place.lowerBound], as: UTF8.self))\(spelling)"
    }
    return Variant(text: String(decoding: bytes, as: UTF8.self), description: said.joined(separator: " "))
  }

  private static func numbers(in bytes: [UInt8]) -> [Range<Int>] {
    func isDigit(_ index: Int) -> Bool { index < bytes.count && 0x30...0x39 ~= bytes[index] }
    func isOfWord(_ index: Int) -> Bool {
      guard bytes.indices.contains(index) else { return false }
      return isDigit(index) || 0x41...0x5A ~= bytes[index] || 0x61...0x7A ~= bytes[index] || bytes[index] >= 0x80
    }
    var found: [Range<Int>] = []
    var index = 0
    while index < bytes.count {
      guard isDigit(index) else {
        index += 1
        continue
      }
      var end = index
      // Both parts of 1.5 belong to the same number, as do all digits of 0x12.
      while isDigit(end) || end < bytes.count && bytes[end] == 0x2E && isDigit(end + 1) { end += 1 }
      if end == index + 1, bytes[index] == 0x30, end < bytes.count, bytes[end] | 0x20 == 0x78 {
        end += 1
        while isOfWord(end) { end += 1 }
      }
      let hasSign = index > 0 && bytes[index - 1] == 0x2D && !isOfWord(index - 2)
      if hasSign || !isOfWord(index - 1) && (index == 0 || bytes[index - 1] != 0x2D) {
        found.append((hasSign ? index - 1 : index)..<end)
      }
      index = end
    }
    return found
  }
}
