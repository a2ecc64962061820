/// A repeatable source of random numbers, based on splitmix64.
///
/// Do not use this generator for secrets. libcrypto provides unpredictable numbers, such as challenges for real
/// accessories.
///
/// ```swift
/// var random = SeededRandom(seed: 7)
/// let jitter = Int.random(in: 0..<100, using: &random)   // the same on every run
/// ```
public struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates a generator. The same seed always gives the same numbers.
  public init(seed: UInt64) {
    state = seed
  }

  /// Returns the next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  package mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255, using: &self) } }

  /// Returns a separate generator for one part of a world. Adding another part therefore does not change the random
  /// numbers of the existing parts.
  public func derived(_ name: StaticString) -> SeededRandom {
    var fork = SeededRandom(seed: state ^ name.withUTF8Buffer { $0.stableHash })
    return SeededRandom(seed: fork.next())
  }
}

/// Random choices for the plan of a world.
package struct PlanRandom {
  private var random: SeededRandom

  package init(seed: UInt64) { random = SeededRandom(seed: seed).derived("plan") }

  package mutating func next() -> UInt64 { random.next() }

  package mutating func percent(_ chance: Int) -> Bool { Int(truncatingIfNeeded: next() % 100) < chance }

  package mutating func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(truncatingIfNeeded: next() % UInt64(range.count))
  }

  /// Returns a random number of any magnitude. Small numbers are more likely than large ones.
  package mutating func spread(_ range: ClosedRange<Int>) -> Int {
    var top = range.lowerBound
    while top < range.upperBound, percent(65) { top = max(top + 1, top * 3) }
    return number(range.lowerBound...min(top, range.upperBound))
  }

  package mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration {
    .microseconds(number(range.lowerBound * 1_000...range.upperBound * 1_000))
  }

  package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[number(0...elements.count - 1)] }
}

extension Sequence<UInt8> {
  /// An FNV-1a hash. Unlike Swift's hash values, an FNV-1a hash is the same in every process. Inlining avoids a
  /// function call per byte, whose cost adds up when an accessory reconnects often.
  @inlinable package var stableHash: UInt64 {
    reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}

/// A probability in whole millionths, which can be read and written without rounding.
///
/// ```swift
/// let chance = try Chance("2.5%")
/// if chance.happens(using: &random) { … }
/// ```
public struct Chance: Equatable, Hashable, Sendable, CustomStringConvertible {
  /// The probability in millionths: 0 means never, and 1,000,000 means always.
  public let millionths: Int

  /// Creates a probability from millionths.
  public init(millionths: Int) {
    precondition((0...1_000_000).contains(millionths), "a chance lies between 0 and 1,000,000 millionths")
    self.millionths = millionths
  }

  /// Creates a probability from a percentage.
  public static func percent(_ percent: Int) -> Chance { Chance(millionths: percent * 10_000) }

  /// Parses a percentage such as `2.5%`, or a fraction such as `0.025`.
  public init(_ text: String) throws(OptionError) {
    let isPercent = text.hasSuffix("%")
    let digits = (isPercent ? text.dropLast() : text[...]).split(separator: ".", omittingEmptySubsequences: false)
    let places = isPercent ? 4 : 6
    guard digits.count <= 2, digits.allSatisfy({ !$0.isEmpty && $0.allSatisfy { $0.isASCII && $0.isNumber } }) else {
      throw OptionError("'\(Excerpt.of(text))' is not a chance: write '5%' or '0.05'")
    }
    let decimals = digits.count == 2 ? digits[1].dropping("0") : ""
    guard decimals.count <= places else { throw OptionError("'\(Excerpt.of(text))' is more precise than a millionth") }
    let whole = digits[0] + decimals + String(repeating: "0", count: places - decimals.count)
    guard let millionths = Int(whole), millionths <= 1_000_000 else {
      throw OptionError(
        "'\(Excerpt.of(text))' is more than 100%: write a chance from 0% to 100%, such as '5%' or '0.05'")
    }
    self.millionths = millionths
  }

  /// Decides at random whether an event with this probability happens.
  public func happens(using random: inout SeededRandom) -> Bool {
    if millionths == 0 { return false }
    return random.next(upperBound: 1_000_000 as UInt64) < UInt64(millionths)
  }

  /// The probability as a percentage such as `2.5%`.
  public var description: String {
    let (whole, rest) = millionths.quotientAndRemainder(dividingBy: 10_000)
    let decimals = String(10_000 + rest).dropFirst().dropping("0")
    return decimals.isEmpty ? "\(whole)%" : "\(whole).\(decimals)%"
  }
}

extension Substring {
  fileprivate func dropping(_ character: Character) -> Substring {
    var rest = self
    while rest.last == character { rest = rest.dropLast() }
    return rest
  }
}
