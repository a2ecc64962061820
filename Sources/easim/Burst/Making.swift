import AccessoryLoad
import Glibc

extension BurstReport.Making {
  /// This program, started now on this machine.
  static var now: Self {
    var made = Self()
    made.program = Version.program
    made.command = String(CommandLine.arguments.map(\.shellWord).joined(separator: " ").prefix(4_000))
    made.date = utc(time(nil))
    var names = utsname()
    if uname(&names) == 0 {
      made.host = [text(&names.nodename), text(&names.sysname), text(&names.release), text(&names.machine)]
        .joined(separator: " ")
    }
    return made
  }

  /// A time as ISO 8601 has it: "2026-11-22T21:45:00Z".
  private static func utc(_ seconds: time_t) -> String {
    var (seconds, parts) = (seconds, tm())
    guard gmtime_r(&seconds, &parts) != nil else { return "" }
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T"
      + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
  }

  /// A field of `utsname`, which ends with a zero.
  private static func text<Field>(_ field: inout Field) -> String {
    withUnsafeBytes(of: &field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
