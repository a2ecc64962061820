import Glibc

/// Where `--transcript` writes: a file, or stderr with `-`.
///
/// Each line is written when its packet passes, so a transcript is whole up to the end of the process, however it ends.
final class TranscriptFile {
  private let descriptor: Int32

  init(_ path: String, _ command: CommandSpec) throws(UsageError) {
    if path == "-" {
      descriptor = STDERR_FILENO
      return
    }
    descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    if descriptor < 0 { throw UsageError("--transcript \(path): \(String(cString: strerror(errno)))", command) }
  }

  deinit {
    if descriptor != STDERR_FILENO { close(descriptor) }
  }

  func write(_ line: String) {
    Console.write(line + "\n", to: descriptor)
  }
}
