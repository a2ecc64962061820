/// Bytes as people write them in hex: `0A 1b2c`, in pairs of digits, with blanks between pairs where one likes.
///
/// ```swift
/// try HexText.parse("ff5a 00")      // [0xFF, 0x5A, 0x00]
/// HexText.format([0xFF, 0x5A])      // "ff5a"
/// ```
public enum HexText {
  /// Reads pairs of hex digits; the error names the place.
  public static func parse(_ text: String) throws(HexTextError) -> [UInt8] {
    var bytes: [UInt8] = []
    var high: UInt8?
    for (offset, character) in text.enumerated() {
      if character.isWhitespace {
        if high != nil { throw HexTextError("a byte is two hex digits, and character \(offset + 1) is a blank") }
        continue
      }
      guard let digit = character.hexDigitValue, character.isASCII else {
        throw HexTextError("'\(character)' at character \(offset + 1) is not a hex digit")
      }
      if let first = high {
        bytes.append(first << 4 | UInt8(digit))
        high = nil
      } else {
        high = UInt8(digit)
      }
    }
    if high != nil { throw HexTextError("a byte is two hex digits, and the last one has only one") }
    return bytes
  }

  /// Writes two lower-case digits per byte, with `separator` between bytes.
  public static func format(_ bytes: [UInt8], separator: String = "") -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: separator)
  }
}

/// Why a text is not bytes in hex.
public struct HexTextError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong and where.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}
