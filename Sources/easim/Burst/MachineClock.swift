import AccessoryCore
import AccessoryLoad
import AccessoryRuns
import CLinux
import Glibc

/// A reading of this machine's clock, its estimated error, and the loop's clock, all taken at the same moment.
struct MachineClock {
  private let instant: Instant
  /// The time in microseconds since 1970.
  let microseconds: Int
  /// The maximum clock error in microseconds, as reported by the kernel, or nil if the clock is not synchronized.
  let error: Int?

  init(_ instant: Instant) {
    self.instant = instant
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    microseconds = max(0, time.tv_sec * 1_000_000 + time.tv_nsec / 1_000)
    var error: Int64 = 0
    self.error = clinux_clock_error(&error) == 0 && error >= 0 ? Int(error) : nil
  }

  func microseconds(at other: Instant) -> Int {
    max(0, microseconds + Int((other - instant).wholeNanoseconds / 1_000))
  }

  var text: String {
    guard let error else {
      return "this machine's clock is not synchronized (no NTP), so other machines may begin at other times"
    }
    return "this machine's clock is off by at most \(FixedText.time(Double(error) * 1_000))"
  }
}

extension BurstReport.Making {
  static var now: Self {
    var made = Self()
    made.program = Version.program
    made.command = String(CommandLine.arguments.map(\.shellWord).joined(separator: " ").prefix(4_000))
    made.date = StartTime.text(time(nil) * 1_000_000)
    var names = utsname()
    if uname(&names) == 0 {
      made.host = [text(&names.nodename), text(&names.sysname), text(&names.release), text(&names.machine)]
        .joined(separator: " ")
    }
    return made
  }

  /// Converts a field of `utsname`, which ends with a zero byte, to a string.
  private static func text<Field>(_ field: inout Field) -> String {
    withUnsafeBytes(of: &field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
