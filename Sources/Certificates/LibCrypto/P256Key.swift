/// A private P-256 key that always produces the same signature for the same digest.
///
/// The key is only for simulation: its scalar is derived from a public seed, and nothing protects it against timing
/// attacks.
final class P256Key: SigningKey, @unchecked Sendable {
  let key: OpaquePointer
  /// The same key, which belongs to `key`.
  private let curveKey: OpaquePointer
  private let scalar: [UInt8]

  static var order: [UInt8] { P256Order.shared.bytes }

  /// Creates the key for a scalar. Returns nil unless the scalar has 32 bytes, is at least 1 and is smaller than the
  /// group order.
  init?(scalar: [UInt8]) {
    guard scalar.count == 32, scalar.lexicographicallyPrecedes(Self.order), scalar.contains(where: { $0 != 0 })
    else { return nil }
    guard let curveKey = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1), let key = EVP_PKEY_new(),
      let group = EC_KEY_get0_group(curveKey)
    else { preconditionFailure("libcrypto lacks P-256: \(LibraryReasons.take())") }
    let number = Owned(BN_bin2bn(scalar, 32, nil), BN_free)
    let point = Owned(EC_POINT_new(group), EC_POINT_free)
    LibraryReasons.must(EC_POINT_mul(group, point.pointer, number.pointer, nil, nil, nil), "public key")
    LibraryReasons.must(EC_KEY_set_private_key(curveKey, number.pointer), "private key")
    LibraryReasons.must(EC_KEY_set_public_key(curveKey, point.pointer), "public key")
    LibraryReasons.must(EVP_PKEY_assign(key, EVP_PKEY_EC, UnsafeMutableRawPointer(curveKey)), "key")
    self.scalar = scalar
    self.curveKey = curveKey
    self.key = key
  }

  static func derived(from seed: SeedStream) -> P256Key {
    // About one in four billion scalars is unsuitable.
    for attempt in UInt8.min...UInt8.max {
      if let key = P256Key(scalar: seed.bytes("P-256 scalar", attempt: attempt, count: 32)) { return key }
    }
    preconditionFailure("256 consecutive hashes exceeded the order of P-256")
  }

  deinit {
    EVP_PKEY_free(key)
  }

  /// Signs 32 bytes without hashing them. The same digest and `extra` give the same signature.
  func sign(digest: [UInt8], extra: [UInt8] = []) -> P256Signature {
    var nonces = DeterministicNonces(scalar: scalar, digest: digest, extra: extra)
    while true {
      if let signature = sign(digest: digest, nonce: nonces.next()) { return signature }
    }
  }

  func response(signing digest: [UInt8]) -> [UInt8] {
    sign(digest: digest).raw
  }

  /// Tries to sign with this nonce. Returns nil if r or s is zero.
  private func sign(digest: [UInt8], nonce: [UInt8]) -> P256Signature? {
    let group = EC_KEY_get0_group(curveKey)
    let order = P256Order.shared
    let arithmetic = Owned(BN_CTX_new(), BN_CTX_free)
    let number = Owned(BN_bin2bn(nonce, 32, nil), BN_free)
    let point = Owned(EC_POINT_new(group), EC_POINT_free)
    let r = Owned(BN_new(), BN_free)
    LibraryReasons.must(
      EC_POINT_mul(group, point.pointer, number.pointer, nil, nil, arithmetic.pointer), "the nonce's point")
    LibraryReasons.must(
      EC_POINT_get_affine_coordinates(group, point.pointer, r.pointer, nil, arithmetic.pointer), "the nonce's point")
    LibraryReasons.must(BN_nnmod(r.pointer, r.pointer, order.number, arithmetic.pointer), "r")
    if BN_is_zero(r.pointer) == 1 { return nil }
    let inverse = Owned(BN_bin2bn(order.inverse(of: nonce), 32, nil), BN_free)
    guard
      let made = Owned(
        parsed: ECDSA_do_sign_ex(digest, Int32(digest.count), inverse.pointer, r.pointer, curveKey), ECDSA_SIG_free)
    else {
      LibraryReasons.take()
      return nil
    }
    guard let r = ECDSA_SIG_get0_r(made.pointer), let s = ECDSA_SIG_get0_s(made.pointer) else { return nil }
    return P256Signature(raw: r.bigEndianBytes(32) + s.bigEndianBytes(32))
  }
}

/// A P-256 signature in its two forms: concatenated numbers on the wire, and DER in certificates and libcrypto.
struct P256Signature: Equatable {
  let raw: [UInt8]

  init(raw: [UInt8]) {
    precondition(raw.count == 64, "a P-256 signature is 64 bytes")
    self.raw = raw
  }

  /// A SEQUENCE of two INTEGERs, usually 70 to 72 bytes, because a number whose top bit is set takes an extra byte, and
  /// a number that starts with zeros takes fewer.
  var der: [UInt8] {
    let signature = parsed()
    return encoded { i2d_ECDSA_SIG(signature.pointer, $0) }
  }

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

/// The nonces of deterministic ECDSA on P-256 with HMAC-SHA256 (RFC 6979, 3.2). Another nonce is used only if the
/// previous one gives no valid signature, which has never been observed.
///
/// OpenSSL supports deterministic nonces from version 3.2 on, but Debian 12 has 3.0. easim implements only the sequence
/// of steps and an inverse (``P256Order``); libcrypto does all other arithmetic. A test checks the vectors of RFC 6979
/// A.2.5.
///
/// `extra` (RFC 6979, 3.6) gives a different but equally deterministic sequence for the same key and digest. The
/// sequence is used to sign a certificate again if the signature has the wrong length.
struct DeterministicNonces {
  private var key: [UInt8]
  private var value: [UInt8]
  private var isFirst = true

  /// `digest` must have 32 bytes. One subtraction reduces the digest modulo the order, because a 32-byte number is less
  /// than twice the order.
  init(scalar: [UInt8], digest: [UInt8], extra: [UInt8] = []) {
    precondition(scalar.count == 32 && digest.count == 32, "P-256 and SHA-256 are 32 bytes each")
    key = [UInt8](repeating: 0, count: 32)
    value = [UInt8](repeating: 1, count: 32)
    let seed = scalar + Self.reduced(digest) + extra
    for separator: UInt8 in [0, 1] {
      key = Digests.hmacSHA256(key: key, value + [separator] + seed)
      value = Digests.hmacSHA256(key: key, value)
    }
  }

  /// Returns the next nonce: 32 bytes, at least 1 and smaller than the order.
  mutating func next() -> [UInt8] {
    while true {
      if !isFirst {
        key = Digests.hmacSHA256(key: key, value + [0])
        value = Digests.hmacSHA256(key: key, value)
      }
      isFirst = false
      value = Digests.hmacSHA256(key: key, value)
      if value.lexicographicallyPrecedes(P256Key.order), value.contains(where: { $0 != 0 }) { return value }
    }
  }

  private static func reduced(_ digest: [UInt8]) -> [UInt8] {
    if digest.lexicographicallyPrecedes(P256Key.order) { return digest }
    let number = Owned(BN_bin2bn(digest, 32, nil), BN_free)
    LibraryReasons.must(BN_sub(number.pointer, number.pointer, P256Order.shared.number), "digest modulo the order")
    return number.pointer.bigEndianBytes(32)
  }
}
