import CCrypto

/// The order of the group P-256, below which scalars and nonces are, and arithmetic by it: made once for all keys.
///
/// Only read after it was made, so any thread may.
final class P256Order: @unchecked Sendable {
  static let shared = P256Order()

  /// The order, most significant byte first.
  let bytes: [UInt8]
  /// The order.
  let number: OpaquePointer
  private let montgomery: OpaquePointer
  private let inverting: OpaquePointer

  private init() {
    let group = Owned(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), EC_GROUP_free)
    guard let number = BN_dup(EC_GROUP_get0_order(group.pointer)), let inverting = BN_dup(number),
      let montgomery = BN_MONT_CTX_new()
    else { preconditionFailure("libcrypto lacks P-256: \(LibraryReasons.take())") }
    LibraryReasons.must(BN_sub_word(inverting, 2), "the order less two")
    let arithmetic = Owned(BN_CTX_new(), BN_CTX_free)
    LibraryReasons.must(BN_MONT_CTX_set(montgomery, number, arithmetic.pointer), "arithmetic by the order")
    self.number = number
    self.inverting = inverting
    self.montgomery = montgomery
    bytes = number.bigEndianBytes(32)
  }

  /// Sets `result` to the inverse of a number that is not zero, modulo the order.
  ///
  /// By raising it to the order less two (Fermat), which takes half the time of `BN_mod_inverse`: that one divides, and
  /// its branches depend on the number.
  func invert(_ value: OpaquePointer, into result: OpaquePointer, _ arithmetic: OpaquePointer) {
    LibraryReasons.must(
      BN_mod_exp_mont(result, value, inverting, number, arithmetic, montgomery), "the nonce's inverse")
  }
}
