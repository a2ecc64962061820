import Glibc
import TestSupport
import Testing

/// A separate local directory for one test, and programs that find this directory the way users' programs do.
final class LocalPlace {
  let place = TemporaryFolder()

  var path: String { place.file("local") }
  private var environment: [String: String] { ["EASIM_LOCAL": path] }

  func start(_ words: String...) throws -> Program { try Program(words, environment: environment) }

  func run(_ words: String...) throws -> Program.Remains { try run(words) }

  func run(_ words: [String]) throws -> Program.Remains { try Program.run(words, environment: environment) }

  func plugIn(_ words: String..., count: Int = 1) throws -> Program {
    let program = try Program(["run"] + words, environment: environment)
    for _ in 0..<count { try program.line("plugged in at local:") }
    return program
  }

  func bash(_ line: String) throws -> Program.Remains {
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    let own = environment.merging(["PATH": "\(BuiltProducts.folder):\(path)"]) { $1 }
    return try Program(path: "/bin/bash", ["-c", line], environment: own).wait()
  }

  var files: [String] { place.names("local").filter { !$0.hasPrefix("capture-") } }
}
