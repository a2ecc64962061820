import AccessoryFormats

/// Bytes that depend only on a seed and a purpose: simulated keys and serials are made from them.
///
/// A hash instead of `SeededRandom`, so that two labels or two seeds have nothing in common, and every version of
/// easim makes the same key from the same seed.
struct SeedStream {
  private let prefix: [UInt8]

  /// The stream of one thing that is made from a seed, such as "coprocessor 3.0".
  init(_ thing: String, seed: UInt64) {
    prefix = Array("easim simulation\0\(thing)\0".utf8) + withUnsafeBytes(of: seed.bigEndian) { Array($0) }
  }

  /// `count` bytes for one purpose. Another attempt gives other bytes, where the first ones were no use.
  func bytes(_ purpose: String, attempt: UInt8 = 0, count: Int) -> [UInt8] {
    Digests.stretched(prefix + Array("\(purpose)\0".utf8) + [attempt], to: count)
  }

  /// A certificate's serial: of a fixed size whatever the seed, so positive and without a zero at the front.
  func serial(byteCount: Int) -> [UInt8] {
    var serial = bytes("serial", count: byteCount)
    serial[0] = serial[0] & 0x3F | 0x40
    return serial
  }
}

extension SeededRandom {
  /// The next `count` bytes, eight from each number.
  mutating func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { output, filled in
      while filled < count {
        var word = next()
        for _ in 0..<min(8, count - filled) {
          output[filled] = UInt8(truncatingIfNeeded: word)
          word >>= 8
          filled += 1
        }
      }
    }
  }
}
