import AccessoryFormats
import AccessoryPages
import AccessoryRuns
import LinuxIO

/// The file of `--trace`: the run as a page of HTML, written when the command ends.
final class TraceFile {
  let recorder: TraceRecorder
  /// Whether the page is written at the end; `easim soak` writes one only for a failed seed.
  var isWanted = true
  private let file: WholeFile
  private let name: String
  private var verdict: TraceVerdict?
  /// The last line for users, which is the result if the command has no verdict.
  var lastLine = ""

  /// Prepares a file that is written at the end, and checks now whether that is possible.
  init(_ path: String, time: String, limit: Int?) throws {
    name = "--trace \(path)"
    file = try PatientFile.whole(path, named: name)
    recorder = TraceRecorder(
      program: Version.program, command: Self.command, time: time, limit: limit ?? TraceRecorder.usualLimit)
  }

  /// The command line, quoted for a shell.
  static var command: String {
    (["easim"] + CommandLine.arguments.dropFirst().map(\.shellWord)).joined(separator: " ")
  }

  /// Records the outcome of the run from its report.
  func conclude(_ report: some Report) {
    let verdict = report.outcome
    conclude(verdict.word, ([report.headline] + verdict.reasons).joined(separator: "; "))
  }

  /// Records the outcome of the run; the last call counts.
  func conclude(_ word: String, _ text: String) { verdict = TraceVerdict(word, text) }

  /// Writes the page.
  func finish(_ code: ExitCode, _ console: Console) {
    guard isWanted else { return }
    var verdict = verdict ?? TraceVerdict(code == .done ? "finished" : "failed", lastLine)
    if code != .done, verdict.word == "passed" { verdict = TraceVerdict("failed", lastLine) }
    if let reason = PatientFile.write(recorder.page(verdict), to: file) { console.lose(name, reason) }
  }
}
