import AccessoryLoad
import Glibc

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

  /// Returns a field of `utsname` as text; the field ends with a zero byte.
  private static func text<Field>(_ field: inout Field) -> String {
    withUnsafeBytes(of: &field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
