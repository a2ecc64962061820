/// Bytes as people write them.
public enum Hex {
  private static let digits = Array("0123456789abcdef".utf8)

  /// "ff 5a 00".
  public static func spaced(_ bytes: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    for byte in bytes {
      if !text.isEmpty { text.append(0x20) }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// "ff5a00".
  public static func plain(_ bytes: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// "EA00": the way the sheet writes message numbers.
  public static func number(_ value: UInt16) -> String {
    plain([UInt8(value >> 8), UInt8(truncatingIfNeeded: value)]).uppercased()
  }

  /// Reads hex digits, white space anywhere between bytes; nil when anything else is in it or half a byte is left.
  public static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    var bytes: [UInt8] = []
    var high: UInt8?
    for character in text.utf8 {
      let value: UInt8
      switch character {
      case 0x30...0x39: value = character - 0x30
      case 0x61...0x66: value = character - 0x61 + 10
      case 0x41...0x46: value = character - 0x41 + 10
      case 0x20, 0x09, 0x0A, 0x0D:
        if high != nil { return nil }
        continue
      default: return nil
      }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return high == nil ? bytes : nil
  }
}
