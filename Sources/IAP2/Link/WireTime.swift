/// A point in time as the protocol sees it: nanoseconds from any fixed origin.
///
/// `IAP2` imports nothing, so it has its own; a loop's instant carries the same number.
public struct WireTime: Comparable, Hashable, Sendable {
  /// Nanoseconds since the origin.
  public var nanoseconds: Int64

  /// Makes a time from nanoseconds since the origin.
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The earlier of two times comes first.
  public static func < (left: WireTime, right: WireTime) -> Bool { left.nanoseconds < right.nanoseconds }

  /// The time `milliseconds` later; sticks at the last there is instead of overflowing, for lengths come from users.
  public static func + (time: WireTime, milliseconds: Milliseconds) -> WireTime {
    let (length, isTooLong) = milliseconds.count.multipliedReportingOverflow(by: 1_000_000)
    let (sum, isTooLate) = time.nanoseconds.addingReportingOverflow(length)
    if isTooLong || isTooLate { return WireTime(nanoseconds: milliseconds.count < 0 ? .min : .max) }
    return WireTime(nanoseconds: sum)
  }

  static func earlier(_ left: WireTime?, _ right: WireTime?) -> WireTime? {
    guard let left else { return right }
    guard let right else { return left }
    return min(left, right)
  }
}

/// A length of time in the unit of the wire.
public struct Milliseconds: Hashable, Sendable, ExpressibleByIntegerLiteral {
  /// How many.
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
