import Glibc

/// The system's monotonic clock. The clock starts at 0 when this value is created, so that instants are short and
/// readable.
package struct MonotonicClock: Sendable {
  private let origin = Self.reading

  package init() {}

  package var now: Instant { Instant(nanoseconds: Self.reading - origin) }

  private static var reading: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

extension EventLoop {
  /// The Unix time at which this loop's clock read 0, derived from the current system time.
  package var systemEpoch: UInt64 { UInt64(max(0, Int64(time(nil)) - now.nanoseconds / 1_000_000_000)) }
}

/// A Gregorian date and time in UTC, to the second, in libc's representation.
public struct CalendarTime: Equatable, Sendable {
  /// The year, month and day.
  public let year: Int, month: Int, day: Int
  /// The hour, minute and second.
  public let hour: Int, minute: Int, second: Int

  /// Creates the time `seconds` seconds after the start of 1970, or the start of 1970 if libc cannot represent that
  /// time.
  public init(secondsSince1970 seconds: Int) {
    var (seconds, parts) = (time_t(seconds), tm())
    if gmtime_r(&seconds, &parts) == nil { (parts.tm_year, parts.tm_mday) = (70, 1) }
    (year, month, day) = (Int(parts.tm_year) + 1_900, Int(parts.tm_mon) + 1, Int(parts.tm_mday))
    (hour, minute, second) = (Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec))
  }

  /// Returns a date and time as seconds since 1970, or nil for a date that does not exist, such as 31 April.
  public static func seconds(
    _ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int
  ) -> Int? {
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (
      Int32(clamping: year - 1_900), Int32(clamping: month - 1), Int32(clamping: day)
    )
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (
      Int32(clamping: hour), Int32(clamping: minute), Int32(clamping: second)
    )
    // libc silently turns 31 April into 1 May.
    let seconds = timegm(&parts)
    let made = CalendarTime(secondsSince1970: seconds)
    return (made.year, made.month, made.day) == (year, month, day) ? seconds : nil
  }

  /// Text such as "2026-11-23T01:30:00".
  public var text: String {
    "\(year)".zeroPadded(to: 4) + "-" + Self.two(month) + "-" + Self.two(day) + "T" + Self.two(hour) + ":"
      + Self.two(minute) + ":" + Self.two(second)
  }

  private static func two(_ number: Int) -> String { "\(number)".zeroPadded(to: 2) }
}
