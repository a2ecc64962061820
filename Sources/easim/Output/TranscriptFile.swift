import Glibc

/// Where `--transcript` writes: a file, or stderr with `-`.
///
/// Each line is written when its packet passes, so a transcript is whole up to the end of the process, however it ends.
final class TranscriptFile {
  private let descriptor: Int32
  private let name: String
  private let console: Console

  /// What `--transcript` asks for, if it is given. A file is emptied, so everything else about the command line comes
  /// first.
  static func asked(for arguments: ParsedArguments, _ console: Console) throws(UsageError) -> TranscriptFile? {
    guard let path = arguments.value("--transcript") else { return nil }
    return try TranscriptFile(path, arguments.command, console)
  }

  private init(_ path: String, _ command: CommandSpec, _ console: Console) throws(UsageError) {
    name = "--transcript \(path)"
    self.console = console
    if path == "-" {
      descriptor = STDERR_FILENO
      return
    }
    descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    if descriptor < 0 { throw UsageError("\(name): \(String(cString: strerror(errno)))", command) }
  }

  deinit {
    if descriptor != STDERR_FILENO { close(descriptor) }
  }

  func write(_ line: String) {
    console.write(line + "\n", to: descriptor, named: name)
  }
}
