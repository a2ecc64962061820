/// A point in time, in nanoseconds since an origin chosen by the event loop.
///
/// Protocol state machines and timers take the time as a parameter, so that a virtual loop can simulate a week in a
/// second. Instants of different loops must not be compared.
public struct Instant: Comparable, Hashable, Sendable {
  /// Nanoseconds since the loop's origin.
  public var nanoseconds: Int64

  /// Creates an instant from nanoseconds since the loop's origin.
  @inlinable
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The loop's origin.
  @inlinable public static var origin: Instant { Instant(nanoseconds: 0) }

  /// An instant later than any deadline.
  @inlinable public static var distantFuture: Instant { Instant(nanoseconds: .max) }

  /// The seconds since the clock's origin, for output.
  public var seconds: Double { Double(nanoseconds) / 1e9 }

  /// Returns true if `left` is earlier than `right`.
  @inlinable
  public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

  /// Returns true if both instants are equal.
  @inlinable
  public static func == (left: Instant, right: Instant) -> Bool { left.nanoseconds == right.nanoseconds }

  /// Returns the instant that is `duration` after this one, or ``distantFuture`` if the sum overflows.
  @inlinable
  public static func + (instant: Instant, duration: Duration) -> Instant {
    let (sum, overflows) = instant.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    return overflows ? .distantFuture : Instant(nanoseconds: sum)
  }

  /// Returns the time from `earlier` to this instant.
  @inlinable
  public static func - (later: Instant, earlier: Instant) -> Duration {
    // Here, Duration.nanoseconds(_:) would take several calls into the standard library.
    Duration(attoseconds: Int128(later.nanoseconds - earlier.nanoseconds) * 1_000_000_000)
  }
}

extension Duration {
  /// This duration in whole nanoseconds, clamped to 64 bits (292 years).
  @inlinable
  public var wholeNanoseconds: Int64 {
    // Nearly all durations are at most 18 seconds long. For such durations, this shortcut avoids a 128-bit division,
    // which would account for most of a timer's cost.
    let attoseconds = attoseconds
    if 0...Int128(UInt64.max) ~= attoseconds {
      return Int64(UInt64(truncatingIfNeeded: attoseconds) / 1_000_000_000)
    }
    return clampedNanoseconds
  }

  @usableFromInline
  var clampedNanoseconds: Int64 {
    Int64(clamping: attoseconds / 1_000_000_000)
  }

  /// This duration in seconds, for output.
  public var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
