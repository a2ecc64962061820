/// A length of time in the unit that iAP2 uses on the wire.
public struct Milliseconds: Hashable, Sendable, ExpressibleByIntegerLiteral {
  /// How many milliseconds.
  public var count: Int64

  /// That many milliseconds.
  public init(_ count: Int64) {
    self.count = count
  }

  /// That many milliseconds.
  public init(integerLiteral value: Int64) {
    count = value
  }
}

extension Instant {
  /// The time `milliseconds` later; the first or last instant there is if that overflows, because users choose lengths.
  public static func + (time: Instant, milliseconds: Milliseconds) -> Instant {
    let (length, isTooLong) = milliseconds.count.multipliedReportingOverflow(by: 1_000_000)
    let (sum, isTooLate) = time.nanoseconds.addingReportingOverflow(length)
    if isTooLong || isTooLate { return Instant(nanoseconds: milliseconds.count < 0 ? .min : .max) }
    return Instant(nanoseconds: sum)
  }

  /// The earlier of two times; nil means "never".
  static func earlier(_ left: Instant?, _ right: Instant?) -> Instant? {
    guard let left else { return right }
    guard let right else { return left }
    return min(left, right)
  }
}
