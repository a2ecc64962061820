/// Base64 as RFC 4648 has it, with padding.
///
/// ```swift
/// Base64.text([0x68, 0x69])   // "aGk="
/// Base64.bytes("aGk=")        // [0x68, 0x69]
/// ```
enum Base64 {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 0xFF, count: 256)
    for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
    return values
  }()

  static func text(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let rest = bytes.count - index
      let second = rest > 1 ? bytes[index + 1] : 0
      let third = rest > 2 ? bytes[index + 2] : 0
      text.append(digits[Int(bytes[index] >> 2)])
      text.append(digits[Int((bytes[index] & 3) << 4 | second >> 4)])
      text.append(rest > 1 ? digits[Int((second & 15) << 2 | third >> 6)] : UInt8(ascii: "="))
      text.append(rest > 2 ? digits[Int(third & 63)] : UInt8(ascii: "="))
      index += 3
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Nil for a text that is not base64.
  static func bytes(_ text: String) -> [UInt8]? {
    let letters = Array(text.utf8)
    guard letters.count.isMultiple(of: 4) else { return nil }
    let padding = letters.suffix(2).count { $0 == UInt8(ascii: "=") }
    if padding == 2, letters.last != UInt8(ascii: "=") { return nil }
    let end = letters.count - padding
    var bytes: [UInt8] = []
    bytes.reserveCapacity(letters.count / 4 * 3)
    var collected: UInt32 = 0
    for index in 0..<end {
      let value = values[Int(letters[index])]
      guard value != 0xFF else { return nil }
      collected = collected << 6 | UInt32(value)
      if index % 4 == 3 {
        bytes.append(UInt8(truncatingIfNeeded: collected >> 16))
        bytes.append(UInt8(truncatingIfNeeded: collected >> 8))
        bytes.append(UInt8(truncatingIfNeeded: collected))
        collected = 0
      }
    }
    if padding == 1 {
      bytes.append(UInt8(truncatingIfNeeded: collected >> 10))
      bytes.append(UInt8(truncatingIfNeeded: collected >> 2))
    } else if padding == 2 {
      bytes.append(UInt8(truncatingIfNeeded: collected >> 4))
    }
    return padding > 0 && letters.last != UInt8(ascii: "=") ? nil : bytes
  }
}
