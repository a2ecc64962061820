import Glibc
import TestSupport
import Testing

final class Accessory {
  enum Medium: String, CaseIterable, Sendable {
    case unix
    case tcp
    case pty
  }

  let program: Program
  let address: String

  init(_ profile: String = "lawk-view", on medium: Medium, in place: TemporaryFolder, _ words: String...) throws {
    let wanted =
      switch medium {
      case .unix: "unix:\(place.file("glasses.sock"))"
      case .tcp: "tcp:127.0.0.1:0"
      case .pty: "pty:\(place.file("glasses"))"
      }
    program = try Program(["run", profile, "--on", wanted] + words)
    if words.contains("--json") {
      let line = try StrictJSON(reading: try program.line("\"event\":\"attach\""))
      address = try #require(line["on"]?.text)
    } else {
      address = try Self.address(in: try program.line("plugged in at "))
    }
  }

  private static func address(in line: String) throws -> String {
    let start = try #require(line.range(of: "plugged in at "))
    return String(line[start.upperBound...].prefix { $0 != "," })
  }

  @discardableResult
  func interrupt() throws -> Program.Remains { try program.interrupt() }
}
