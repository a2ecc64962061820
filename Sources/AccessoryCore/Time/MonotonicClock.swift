import Glibc

/// The system's monotonic clock, counted from when this value was made, so that instants stay small enough to read.
package struct MonotonicClock: Sendable {
  private let origin = Self.reading

  package init() {}

  /// The time since the clock was made.
  package var now: Instant { Instant(nanoseconds: Self.reading - origin) }

  private static var reading: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

extension EventLoop {
  /// The seconds since 1970 at the zero of this loop's clock, as the system's clock has it now.
  package var systemEpoch: UInt64 { UInt64(max(0, Int64(time(nil)) - now.nanoseconds / 1_000_000_000)) }
}
