import AccessoryFormats

/// What tests draw from a seed.
extension SeededRandom {
  /// A number from 0 up to, not including, `bound`.
  public mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// True `percent` times of a hundred.
  public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// A byte.
  public mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }

  /// So many bytes.
  public mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in byte() } }
}
