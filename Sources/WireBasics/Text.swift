/// Reads and writes bytes and numbers in hex.
///
/// ```swift
/// Hex.spaced([0xFF, 0x5A])           // "ff 5a"
/// Hex.number(UInt16(0xEA00))         // "EA00"
/// try Hex.parse("ff5a 00")           // [0xFF, 0x5A, 0x00]
/// ```
public enum Hex {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Formats each byte as two lower-case digits, separated by spaces: `ff 5a 00`.
  public static func spaced(_ bytes: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    for byte in bytes {
      if !text.isEmpty { text.append(0x20) }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Formats only the first `limit` bytes, like ``spaced(_:)``, followed by the total: `30 82 … (607 bytes)`.
  public static func excerpt(_ bytes: some Collection<UInt8>, limit: Int = 16) -> String {
    let shown = spaced(bytes.prefix(limit))
    return bytes.count > limit ? "\(shown) … (\(bytes.count) bytes)" : shown
  }

  /// Returns the value of a hex digit in ASCII, or nil for any other byte.
  public static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// Formats each byte as two lower-case digits, without spaces: `ff5a00`.
  public static func plain(_ bytes: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Formats a number with leading zeros, as wide as its type unless `digits` is given: `EA00`.
  public static func number<Number: FixedWidthInteger & UnsignedInteger>(
    _ value: Number, digits: Int = Number.bitWidth / 4, uppercase: Bool = true
  ) -> String {
    String(value, radix: 16, uppercase: uppercase).zeroPadded(to: digits)
  }

  /// Reads pairs of hex digits, with or without white space between pairs.
  public static func parse(_ text: some StringProtocol) throws(HexError) -> [UInt8] {
    var bytes: [UInt8] = []
    var high: UInt8?
    for (offset, character) in text.enumerated() {
      if character.isWhitespace {
        if high != nil { throw .splitByte(position: offset + 1) }
        continue
      }
      guard let digit = character.hexDigitValue, character.isASCII else {
        throw .notADigit(character, position: offset + 1)
      }
      if let first = high {
        bytes.append(first << 4 | UInt8(digit))
        high = nil
      } else {
        high = UInt8(digit)
      }
    }
    if high != nil { throw .oddDigits }
    return bytes
  }
}

/// The reason a string is not valid hex. Positions are counted in characters, starting at 1.
public enum HexError: Error, Equatable, Sendable, CustomStringConvertible {
  case notADigit(Character, position: Int)
  /// White space separates the two digits of a byte.
  case splitByte(position: Int)
  case oddDigits

  /// A description of the error and its position.
  public var description: String {
    switch self {
    case .notADigit(let character, let position): "'\(character)' at character \(position) is not a hex digit"
    case .splitByte(let position): "a byte is two hex digits, but character \(position) is a space"
    case .oddDigits: "a byte is two hex digits, but the last one has only one"
    }
  }
}

extension StringProtocol {
  /// Returns the digits, padded with leading zeros to the requested width: "7" with a width of 3 becomes "007".
  public func zeroPadded(to width: Int) -> String {
    String(repeating: "0", count: Swift.max(0, width - utf8.count)) + self
  }

  /// Returns the text, padded with spaces at the end to the requested width.
  public func padded(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }

  /// Returns the text, padded with spaces at the start to the requested width.
  public func rightAligned(in width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }
}

extension Unicode.Scalar {
  /// Whether the character is invisible or changes how its neighbors are displayed: control characters, line and
  /// paragraph separators, marks that change the text direction (U+202E and similar), and zero-width characters, such
  /// as tags.
  public var isUnprintable: Bool {
    if value < 0x7F { return value < 0x20 }
    return switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .format: true
    default: properties.isDefaultIgnorableCodePoint && !properties.isVariationSelector
    }
  }
}
