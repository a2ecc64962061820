/// Owns a libcrypto object while a function needs it, and frees it at the end of the scope.
///
/// The type is noncopyable, so that no object is freed twice. Objects that outlive a function belong to a class with a
/// `deinit` (``P256Key``, ``RSAKey``, ``ParsedCertificates``).
///
/// ```swift
/// let order = Owned(BN_new(), BN_free)
/// BN_set_word(order.pointer, 7)
/// ```
struct Owned<Pointer>: ~Copyable {
  let pointer: Pointer
  private let free: (Pointer?) -> Void

  /// Takes the result of a call that fails only if memory runs out or an argument is wrong. Traps if the result is
  /// null.
  init(_ made: Pointer?, _ free: @escaping (Pointer?) -> Void) {
    guard let made else {
      preconditionFailure("libcrypto returned nothing for valid values: \(LibraryReasons.take())")
    }
    pointer = made
    self.free = free
  }

  /// Takes the result of parsing untrusted bytes, or returns nil if the parser rejected them.
  init?(parsed: Pointer?, _ free: @escaping (Pointer?) -> Void) {
    guard let parsed else { return nil }
    pointer = parsed
    self.free = free
  }

  deinit {
    free(pointer)
  }
}

enum LibraryReasons {
  /// Returns the reasons for the latest failures, oldest first, and clears them. Call this method after every libcrypto
  /// call that can fail because of untrusted bytes, so that old reasons are not reported with the next failure.
  @discardableResult
  static func take() -> String {
    var reasons: [String] = []
    // libcrypto keeps at most sixteen errors.
    while case let code = ERR_get_error(), code != 0 {
      guard let text = ERR_reason_error_string(code) else { continue }
      let reason = String(cString: text)
      if reasons.last != reason { reasons.append(reason) }
    }
    return reasons.isEmpty ? "no reason given" : reasons.prefix(3).joined(separator: ", ")
  }

  /// Traps if `result` is a failure. Use this method for calls on values that easim itself created.
  static func must(_ result: Int32, _ what: StaticString) {
    precondition(result == 1, "libcrypto refused valid values (\(what)): \(take())")
  }
}

/// Calls one of libcrypto's DER encoders twice: first to get the length, then to write.
func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
  let length = Int(encode(nil))
  precondition(length > 0, "libcrypto cannot encode its own value: \(LibraryReasons.take())")
  return [UInt8](unsafeUninitializedCapacity: length) { output, count in
    var position = output.baseAddress
    count = Int(encode(&position))
    precondition(count == length, "libcrypto wrote \(count) bytes but had announced \(length)")
  }
}

extension OpaquePointer {
  /// Returns a BIGNUM as bytes, most significant first, padded with zeros at the front.
  func bigEndianBytes(_ length: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: length) { output, count in
      let written = BN_bn2binpad(self, output.baseAddress, Int32(length))
      precondition(written == length, "a number does not fit \(length) bytes")
      count = length
    }
  }
}

/// The version of libcrypto that this process uses, which may differ from the version that easim was built with.
public enum LibraryVersion {
  /// The version, such as "OpenSSL 3.0.17 1 Jul 2025".
  public static var text: String {
    OpenSSL_version(OPENSSL_VERSION).map { String(cString: $0) } ?? "of unknown version"
  }
}

/// Base64 according to RFC 4648, with padding, using libcrypto.
///
/// ```swift
/// Base64.text([0x68, 0x69])   // "aGk="
/// Base64.bytes("aGk=")        // [0x68, 0x69]
/// ```
package enum Base64 {
  package static func text(_ bytes: [UInt8]) -> String {
    // libcrypto appends a zero byte.
    let room = (bytes.count + 2) / 3 * 4 + 1
    return String(unsafeUninitializedCapacity: room) { Int(EVP_EncodeBlock($0.baseAddress, bytes, Int32(bytes.count))) }
  }

  /// Decodes base64, or returns nil if the text is not base64. The text is checked before decoding, because libcrypto
  /// ignores white space and accepts `=` anywhere as a digit.
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
