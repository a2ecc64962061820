/// Base64 as RFC 4648 has it, with padding, by libcrypto.
///
/// ```swift
/// Base64.text([0x68, 0x69])   // "aGk="
/// Base64.bytes("aGk=")        // [0x68, 0x69]
/// ```
package enum Base64 {
  /// The text of any bytes.
  package static func text(_ bytes: [UInt8]) -> String {
    // libcrypto writes a zero at the end.
    let room = (bytes.count + 2) / 3 * 4 + 1
    return String(unsafeUninitializedCapacity: room) { Int(EVP_EncodeBlock($0.baseAddress, bytes, Int32(bytes.count))) }
  }

  /// Nil for a text that is not base64. libcrypto passes over white space and takes `=` everywhere for a digit.
  package static func bytes(_ text: String) -> [UInt8]? {
    let letters = Array(text.utf8)
    let padding = letters.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
    let digits = letters.dropLast(padding)
    guard letters.count.isMultiple(of: 4), !digits.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: "=") }) else {
      return nil
    }
    var isValid = true
    let bytes = [UInt8](unsafeUninitializedCapacity: letters.count) { room, count in
      let decoded = Int(EVP_DecodeBlock(room.baseAddress, letters, Int32(letters.count)))
      isValid = decoded == letters.count / 4 * 3
      count = isValid ? decoded - padding : 0
    }
    return isValid ? bytes : nil
  }
}
