import AccessoryCore
import AccessoryFaults
import Glibc

/// The `--transcript` file, or stderr if the path is `-`.
///
/// No line is dropped. If too many lines are waiting, for example because a pipe is not being read, the cables pause
/// until they are written (``gate``).
final class TranscriptFile {
  let gate = CableGate()
  let shownBytes: Int
  private let console: Console
  private let file: LineKeeper

  /// Opens the `--transcript` file, if given. Opening truncates the file, so check the rest of the command line first.
  static func asked(for shared: SharedOptions, _ console: Console) throws -> TranscriptFile? {
    guard let path = shared.transcript else {
      if shared.transcriptBytes != nil { throw UsageError("--bytes needs --transcript") }
      return nil
    }
    let name = "--transcript \(path)"
    let descriptor =
      path == "-"
      ? STDERR_FILENO
      : try PatientFile.open(path, O_WRONLY | O_CREAT | O_TRUNC, named: name)
    return TranscriptFile(
      console.makeKeeper(descriptor, named: name), console, shared.transcriptBytes ?? Transcript.usualBytes)
  }

  private init(_ file: LineKeeper, _ console: Console, _ shownBytes: Int) {
    self.file = file
    self.shownBytes = shownBytes
    self.console = console
  }

  func write(_ line: String) { console.pace(file, file.add(line), by: gate) }
}
