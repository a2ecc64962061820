/// The order of the P-256 group. Scalars and nonces must be smaller than the order. All keys share one object, which is
/// immutable, so any thread may use it.
final class P256Order: @unchecked Sendable {
  static let shared = P256Order()

  let bytes: [UInt8]
  let number: OpaquePointer
  private let modulus: Modulus

  private init() {
    let group = Owned(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), EC_GROUP_free)
    guard let number = BN_dup(EC_GROUP_get0_order(group.pointer)) else {
      preconditionFailure("libcrypto lacks P-256: \(LibraryReasons.take())")
    }
    self.number = number
    bytes = number.bigEndianBytes(32)
    modulus = Modulus(UInt256(bytes))
  }

  /// Returns the inverse of a number modulo the order, using Euclid's binary algorithm. The number must have 32 bytes,
  /// be at least 1, and be smaller than the order.
  ///
  /// libcrypto has a fast inverse, but does not export it. `BN_mod_exp_mont`, which raises a number to the order minus
  /// two, takes six times as many instructions as this method, and `BN_mod_inverse` takes even more. The running time
  /// depends on the number, which would be a weakness if the key were secret.
  func inverse(of bytes: [UInt8]) -> [UInt8] {
    let modulus = modulus
    // Invariants: bytes * x = u and bytes * y = v modulo the order, and v is odd. At the end, v is 1.
    var (u, v) = (UInt256(bytes), modulus.value)
    var (x, y) = (UInt256(1), UInt256(0))
    while !u.isZero {
      let zeros = min(u.trailingZeroBits, 63)
      u.shift(by: zeros)
      x.shift(by: zeros, modulo: modulus)
      if u.trailingZeroBits > 0 { continue }
      var difference = u
      if difference.subtract(v) {
        difference = v
        _ = difference.subtract(u)
        v = u
        swap(&x, &y)
      }
      u = difference
      if x.subtract(y) { x.add(modulus.value) }
    }
    return y.bytes
  }
}

/// An odd number, together with a factor that makes division by powers of two cheap.
private struct Modulus {
  let value: UInt256
  /// The factor by which `value` must be multiplied to give -1 (mod 2^64).
  let factor: UInt64

  init(_ value: UInt256) {
    self.value = value
    // Each step doubles the number of correct bits, starting with one.
    factor = (0..<6).reduce(1) { factor, _ in factor &* (2 &+ value.lowest &* factor) }
  }
}

/// A 256-bit number, with only the operations needed to compute an inverse.
private struct UInt256 {
  /// The words, least significant first.
  private var words: InlineArray<4, UInt64>

  init(_ word: UInt64) { words = [word, 0, 0, 0] }

  /// Creates a number from 32 bytes, most significant first.
  init(_ bytes: [UInt8]) {
    words = InlineArray { word in bytes[(24 - 8 * word)..<(32 - 8 * word)].reduce(0) { $0 << 8 | UInt64($1) } }
  }

  var bytes: [UInt8] {
    (0..<32).map { UInt8(truncatingIfNeeded: words[3 - $0 / 8] >> UInt64(56 - 8 * ($0 % 8))) }
  }

  var lowest: UInt64 { words[0] }

  var isZero: Bool { words[0] | words[1] | words[2] | words[3] == 0 }

  var trailingZeroBits: Int { words[0].trailingZeroBitCount }

  @inline(__always)
  mutating func add(_ other: UInt256) {
    var carry: UInt128 = 0
    for index in 0..<4 {
      carry += UInt128(words[index]) + UInt128(other.words[index])
      words[index] = UInt64(truncatingIfNeeded: carry)
      carry >>= 64
    }
  }

  @inline(__always)
  mutating func subtract(_ other: UInt256) -> Bool {
    var isNegative = false
    for index in 0..<4 {
      let (first, borrows) = words[index].subtractingReportingOverflow(other.words[index])
      let (second, borrowsToo) = first.subtractingReportingOverflow(isNegative ? 1 : 0)
      words[index] = second
      isNegative = borrows || borrowsToo
    }
    return isNegative
  }

  /// Divides by 2^`count`, where `count` must be less than 64.
  @inline(__always)
  mutating func shift(by count: Int, _ top: UInt64 = 0) {
    for index in 0..<4 {
      let next = index < 3 ? words[index + 1] : top
      words[index] = words[index] &>> UInt64(count) | (next &<< 1) &<< UInt64(63 &- count)
    }
  }

  /// Divides by 2^`count` modulo an odd number, where `count` must be less than 64.
  @inline(__always)
  mutating func shift(by count: Int, modulo modulus: Modulus) {
    // Adds the multiple of the modulus that makes the lowest bits zero.
    let factor = UInt128(words[0] &* modulus.factor & (1 &<< UInt64(count) &- 1))
    var carry: UInt128 = 0
    for index in 0..<4 {
      carry += factor * UInt128(modulus.value.words[index]) + UInt128(words[index])
      words[index] = UInt64(truncatingIfNeeded: carry)
      carry >>= 64
    }
    shift(by: count, UInt64(truncatingIfNeeded: carry))
  }
}
