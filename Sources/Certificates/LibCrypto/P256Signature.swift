import CCrypto

/// A signature on P-256 in the two forms that authentication meets: on the wire the two numbers side by side, in
/// certificates and in libcrypto DER.
struct P256Signature: Equatable {
  /// r and then s, 32 bytes each: exactly 64.
  let raw: [UInt8]

  init(raw: [UInt8]) {
    precondition(raw.count == 64, "a P-256 signature is 64 bytes")
    self.raw = raw
  }

  /// A SEQUENCE of two INTEGERs: 70 to 72 bytes as a rule, since a number with its top bit set takes one more, and
  /// fewer when a number begins with zeros.
  var der: [UInt8] {
    let signature = parsed()
    return encoded { i2d_ECDSA_SIG(signature.pointer, $0) }
  }

  /// The two numbers as libcrypto's own object.
  func parsed() -> Owned<OpaquePointer> {
    let signature = Owned(ECDSA_SIG_new(), ECDSA_SIG_free)
    raw.withUnsafeBufferPointer { numbers in
      guard let start = numbers.baseAddress else { return }
      let set = ECDSA_SIG_set0(signature.pointer, BN_bin2bn(start, 32, nil), BN_bin2bn(start + 32, 32, nil))
      LibraryReasons.must(set, "signature")
    }
    return signature
  }
}
