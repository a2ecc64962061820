/// A point in time on one loop: nanoseconds since an origin of the loop's choosing.
///
/// Every machine and every timer takes its time as an `Instant`, so that a virtual loop can run a week in a second.
/// Instants of different loops must not be compared.
public struct Instant: Comparable, Hashable, Sendable {
  /// Nanoseconds since the loop's origin.
  public var nanoseconds: Int64

  /// Makes an instant from nanoseconds since the loop's origin.
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The loop's origin.
  public static let origin = Instant(nanoseconds: 0)

  /// Later than every deadline anybody sets.
  public static let distantFuture = Instant(nanoseconds: .max)

  /// Seconds since the origin, for people and for JSON.
  public var seconds: Double { Double(nanoseconds) / 1e9 }

  /// The earlier of two instants comes first.
  public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

  /// An instant `duration` later; sticks at `distantFuture` instead of overflowing.
  public static func + (instant: Instant, duration: Duration) -> Instant {
    let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    return overflow ? .distantFuture : Instant(nanoseconds: sum)
  }

  /// How long after `earlier` this instant is.
  public static func - (later: Instant, earlier: Instant) -> Duration {
    .nanoseconds(later.nanoseconds - earlier.nanoseconds)
  }
}

extension Duration {
  /// This duration in nanoseconds, cut at what 64 bits can hold (292 years).
  public var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return carried ? (seconds < 0 ? .min : .max) : sum
  }

  /// This duration in seconds, for people and for JSON.
  public var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
