/// A generator small enough to write down (splitmix64), so that a failing seed can be thrown again anywhere.
struct Dice: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number from 0 up to, not including, `bound`.
  mutating func below(_ bound: Int) -> Int {
    Int(next() % UInt64(bound))
  }

  /// True `percent` times of a hundred.
  mutating func chance(_ percent: Int) -> Bool {
    below(100) < percent
  }

  mutating func byte() -> UInt8 {
    UInt8(truncatingIfNeeded: next())
  }

  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in byte() }
  }
}
