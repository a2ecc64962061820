import AccessoryFormats

extension SeededRandom {
  /// Returns a number from 0 up to, but not including, `bound`.
  public mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// Returns true with the given probability, in percent.
  public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// Returns a random byte.
  public mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }

  /// Returns a copy of the text with up to `most` mistakes: wrong, missing or duplicated bytes, or `tokens` in the
  /// wrong places.
  public mutating func damaged(_ bytes: [UInt8], atMost most: Int, inserting tokens: [String]) -> [UInt8] {
    var bytes = bytes
    for _ in 0...below(most) where !bytes.isEmpty {
      let place = below(bytes.count)
      let end = min(place + 50, bytes.count)
      switch below(5) {
      case 0: bytes[place] = UInt8(below(256))
      case 1: bytes.remove(at: place)
      case 2: bytes.insert(contentsOf: Array(tokens[below(tokens.count)].utf8), at: place)
      case 3: bytes.removeSubrange(place..<end)
      default: bytes.insert(contentsOf: bytes[place..<end], at: place)
      }
    }
    return bytes
  }
}
