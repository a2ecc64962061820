import Glibc
import TestSupport

enum TypedCommand {
  private struct Failure: Error { let what: String }

  /// Returns the command's stderr and stdout, and also its exit code if that is not 2. A word in single quotes may
  /// contain spaces.
  static func output(of line: Substring) throws -> String {
    let place = TemporaryFolder()
    let out = try Self.open(place.file("out"))
    let err = try Self.open(place.file("err"))
    let words = split(line.dropFirst("easim".count))
    let pid = try Spawn(BuiltProducts.easim, words, environment: [:], out: out, err: err).pid
    close(out)
    close(err)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 {
      guard errno == EINTR else { throw Failure(what: "easim cannot be waited for") }
    }
    let text = ["err", "out"].map { String(decoding: place.bytes($0) ?? [], as: UTF8.self) }.joined()
    return status == 2 << 8 ? text : text + "exit code \(status >> 8 & 0xFF)\n"
  }

  private static func open(_ path: String) throws -> Int32 {
    let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure(what: "\(path) cannot be made") }
    return descriptor
  }

  private static func split(_ line: Substring) -> [String] {
    var words: [String] = []
    for (index, part) in line.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
      if index % 2 == 1 { words.append(String(part)) } else { words += part.split(separator: " ").map(String.init) }
    }
    return words
  }
}
