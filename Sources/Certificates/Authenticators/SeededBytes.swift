import AccessoryCore

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
