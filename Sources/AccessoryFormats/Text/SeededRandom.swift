/// The house's only source of chance: a small generator (splitmix64) that repeats itself for the same seed.
///
/// Not for secrets. What must be unpredictable (challenges to real accessories) comes from libcrypto.
///
/// ```swift
/// var random = SeededRandom(seed: 7)
/// let jitter = Int.random(in: 0..<100, using: &random)   // the same on every run
/// ```
public struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// A generator that yields the same numbers for the same seed.
  public init(seed: UInt64) {
    state = seed
  }

  /// The next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A separate generator for one part of a world, so that adding a part does not change the others' random numbers.
  public func derived(_ name: StaticString) -> SeededRandom {
    var fork = SeededRandom(seed: state ^ name.withUTF8Buffer { $0.stableHash })
    return SeededRandom(seed: fork.next())
  }
}
