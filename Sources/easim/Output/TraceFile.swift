import AccessoryFormats
import AccessoryPages
import AccessoryRuns
import LinuxIO

/// The file of `--trace`: the run as a page of HTML, written when the command ends.
final class TraceFile {
  let recorder: TraceRecorder
  /// Whether the page is written at the end; `easim soak` has one only of a seed that failed.
  var isWanted = true
  private let file: WholeFile
  private let name: String
  private var verdict: TraceVerdict?
  /// The last line for users, which says how a command ended that has no verdict.
  var lastLine = ""

  /// A file that is written at the end. Whether it can be is examined now.
  init(_ path: String, time: String, limit: Int?) throws {
    name = "--trace \(path)"
    file = try PatientFile.whole(path, named: name)
    recorder = TraceRecorder(
      program: Version.program, command: Self.command, time: time, limit: limit ?? TraceRecorder.usualLimit)
  }

  /// The command line, as a shell takes it.
  static var command: String {
    (["easim"] + CommandLine.arguments.dropFirst().map(\.shellWord)).joined(separator: " ")
  }

  /// How the run came out, by its report.
  func conclude(_ report: some Report) {
    let verdict = report.outcome
    conclude(verdict.word, ([report.headline] + verdict.reasons).joined(separator: "; "))
  }

  /// How the run came out; what is said last holds.
  func conclude(_ word: String, _ text: String) { verdict = TraceVerdict(word, text) }

  /// Writes the page.
  func finish(_ code: ExitCode, _ console: Console) {
    guard isWanted else { return }
    var verdict = verdict ?? TraceVerdict(code == .done ? "finished" : "failed", lastLine)
    if code != .done, verdict.word == "passed" { verdict = TraceVerdict("failed", lastLine) }
    if let reason = PatientFile.write(recorder.page(verdict), to: file) { console.lose(name, reason) }
  }
}
