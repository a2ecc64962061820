import CCrypto

/// The nonces of deterministic ECDSA on P-256 with HMAC-SHA256 (RFC 6979, 3.2): the first is the one to use, the next
/// ones are for the case, met by nobody yet, that a nonce makes no valid signature.
///
/// OpenSSL can do this itself from 3.2 on; Debian 12 has 3.0. The arithmetic and the HMAC are libcrypto's; only their
/// order is written here, and it is checked against the vectors of RFC 6979 A.2.5.
///
/// `extra` (RFC 6979, 3.6) makes another, equally deterministic sequence for the same key and digest: it is how a
/// certificate is signed again when its signature came out in the wrong length.
struct DeterministicNonces: ~Copyable {
  private let digests = KeyedDigests()
  private var key: [UInt8]
  private var value: [UInt8]
  private let order: [UInt8]
  private var isFirst = true

  /// `digest` is 32 bytes: reduced by the order of the group, which 32 bytes exceed at most once.
  init(scalar: [UInt8], digest: [UInt8], order: [UInt8], extra: [UInt8] = []) {
    precondition(scalar.count == 32 && digest.count == 32 && order.count == 32, "P-256 and SHA-256 are 32 bytes each")
    self.order = order
    key = [UInt8](repeating: 0, count: 32)
    value = [UInt8](repeating: 1, count: 32)
    let seed = scalar + Self.reduced(digest, by: order) + extra
    for separator: UInt8 in [0, 1] {
      key = digests.hmacSHA256(key: key, value + [separator] + seed)
      value = digests.hmacSHA256(key: key, value)
    }
  }

  /// The next nonce: 32 bytes, at least 1 and below the order.
  mutating func next() -> [UInt8] {
    while true {
      if !isFirst {
        key = digests.hmacSHA256(key: key, value + [0])
        value = digests.hmacSHA256(key: key, value)
      }
      isFirst = false
      value = digests.hmacSHA256(key: key, value)
      if value.lexicographicallyPrecedes(order), value.contains(where: { $0 != 0 }) { return value }
    }
  }

  private static func reduced(_ digest: [UInt8], by order: [UInt8]) -> [UInt8] {
    if digest.lexicographicallyPrecedes(order) { return digest }
    let difference = Owned(BN_new(), BN_free)
    let left = Owned(BN_bin2bn(digest, 32, nil), BN_free)
    let right = Owned(BN_bin2bn(order, 32, nil), BN_free)
    LibraryReasons.must(BN_sub(difference.pointer, left.pointer, right.pointer), "digest modulo the order")
    return difference.pointer.bigEndianBytes(32)
  }
}
