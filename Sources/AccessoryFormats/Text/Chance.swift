/// How probable something is, in whole millionths, so that it is the same everywhere and survives being written down.
///
/// ```swift
/// let chance = try Chance("2.5%")
/// if chance.happens(using: &random) { … }
/// ```
public struct Chance: Equatable, Hashable, Sendable, CustomStringConvertible {
  /// Millionths: 0 for never, 1,000,000 for always.
  public let millionths: Int

  /// A chance from millionths.
  public init(millionths: Int) {
    precondition((0...1_000_000).contains(millionths), "a chance lies between 0 and 1,000,000 millionths")
    self.millionths = millionths
  }

  /// So many in a hundred.
  public static func percent(_ percent: Int) -> Chance { Chance(millionths: percent * 10_000) }

  /// Reads `2.5%`, or the same as a fraction, `0.025`.
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

  /// Throws the dice.
  public func happens(using random: inout SeededRandom) -> Bool {
    if millionths == 0 { return false }
    return random.next(upperBound: 1_000_000 as UInt64) < UInt64(millionths)
  }

  /// In percent: `2.5%`.
  public var description: String {
    let (whole, rest) = millionths.quotientAndRemainder(dividingBy: 10_000)
    let decimals = String(10_000 + rest).dropFirst().dropping("0")
    return decimals.isEmpty ? "\(whole)%" : "\(whole).\(decimals)%"
  }
}

extension Substring {
  /// Without this character at the end.
  fileprivate func dropping(_ character: Character) -> Substring {
    var rest = self
    while rest.last == character { rest = rest.dropLast() }
    return rest
  }
}
