import CCrypto

/// A private key on P-256 that signs the same digest the same way every time.
///
/// For simulation only: its scalar comes from a seed that anybody may know, so nothing is done to hide it from somebody
/// who measures time.
final class P256Key: SigningKey, @unchecked Sendable {
  let key: OpaquePointer
  private let curveKey: OpaquePointer
  private let scalar: [UInt8]

  /// The order of the group: scalars and nonces are below it.
  static var order: [UInt8] { P256Order.shared.bytes }

  /// The key of a scalar; nil unless it is 32 bytes, at least 1 and below the order.
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
    LibraryReasons.must(EVP_PKEY_set1_EC_KEY(key, curveKey), "key")
    self.scalar = scalar
    self.curveKey = curveKey
    self.key = key
  }

  /// The key that a seed decides.
  static func derived(from seed: SeedStream) -> P256Key {
    // One scalar in four thousand million is refused.
    for attempt in UInt8.min...UInt8.max {
      if let key = P256Key(scalar: seed.bytes("P-256 scalar", attempt: attempt, count: 32)) { return key }
    }
    preconditionFailure("256 hashes in a row above the order of P-256")
  }

  deinit {
    EVP_PKEY_free(key)
    EC_KEY_free(curveKey)
  }

  /// Signs 32 bytes as they are. The same digest and `extra` make the same signature.
  func sign(digest: [UInt8], extra: [UInt8] = []) -> P256Signature {
    var nonces = DeterministicNonces(scalar: scalar, digest: digest, order: Self.order, extra: extra)
    while true {
      if let signature = sign(digest: digest, nonce: nonces.next()) { return signature }
    }
  }

  func response(signing digest: [UInt8]) -> [UInt8] {
    sign(digest: digest).raw
  }

  /// One attempt with one nonce; nil when it makes r or s zero.
  private func sign(digest: [UInt8], nonce: [UInt8]) -> P256Signature? {
    guard let group = EC_KEY_get0_group(curveKey) else { preconditionFailure("a P-256 key lost its group") }
    let order = P256Order.shared
    let arithmetic = Owned(BN_CTX_new(), BN_CTX_free)
    let number = Owned(BN_bin2bn(nonce, 32, nil), BN_free)
    let point = Owned(EC_POINT_new(group), EC_POINT_free)
    let x = Owned(BN_new(), BN_free)
    let r = Owned(BN_new(), BN_free)
    LibraryReasons.must(
      EC_POINT_mul(group, point.pointer, number.pointer, nil, nil, arithmetic.pointer), "the nonce's point")
    LibraryReasons.must(
      EC_POINT_get_affine_coordinates(group, point.pointer, x.pointer, nil, arithmetic.pointer), "the nonce's point")
    LibraryReasons.must(BN_nnmod(r.pointer, x.pointer, order.number, arithmetic.pointer), "r")
    if BN_is_zero(r.pointer) == 1 { return nil }
    let inverse = Owned(BN_new(), BN_free)
    order.invert(number.pointer, into: inverse.pointer, arithmetic.pointer)
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
