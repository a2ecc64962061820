import AccessoryFormats
import AccessoryPages
import AccessoryRuns
import Glibc
import LinuxIO

/// The file given by `--trace`: an HTML page about the run, written when the command ends.
final class TraceFile {
  let recorder: TraceRecorder
  /// Whether to write the page when the command ends. `easim soak` writes a page only for a failed seed.
  var isWanted = true
  /// The runs to show side by side in place of the recorder's own run.
  var runs: [TracedRun] = []
  private let file: WholeFile
  private let path: String
  private let time: String
  private let name: String
  private var verdict: TraceVerdict?
  /// The last line printed for the user. If the command has no verdict, this line is shown as the result.
  var lastLine = ""

  /// Checks before the run that the file can be written.
  init(_ path: String, time: String, limit: Int?) throws {
    name = "--trace \(path)"
    (self.path, self.time) = (path, time)
    file = try PatientFile.whole(path, named: name)
    recorder = TraceRecorder(
      program: Version.program, command: Self.command, time: time, limit: limit ?? TraceRecorder.usualLimit)
  }

  func recorder(oneOf count: Int) -> TraceRecorder {
    TraceRecorder(program: "", command: "", time: time, limit: max(1, recorder.limit / max(1, count)))
  }

  /// Returns the address of the page relative to the file `other`, for use in a link.
  func address(from other: String) -> String {
    // `getcwd` returns nil if the current folder has been removed, in which case no file can be written anyway.
    let place = getcwd(nil, 0)
    defer { free(place) }
    let here = place.map { String(cString: $0) } ?? ""
    func folders(_ path: String) -> [Substring] {
      let whole = path.hasPrefix("/") ? path : "\(here)/\(path)"
      return whole.split(separator: "/").filter { $0 != "." }
    }
    let (from, to) = (folders(other).dropLast(), folders(path))
    let common = zip(from, to).prefix { $0 == $1 }.count
    return (Array(repeating: "..", count: from.count - common) + to.dropFirst(common)).map { part in
      part.utf8.map { byte in
        let isPlain = byte > 0x20 && byte < 0x7F && !"#?%\"<>&'".utf8.contains(byte)
        return isPlain
          ? String(Unicode.Scalar(byte)) : "%" + String(byte, radix: 16, uppercase: true).zeroPadded(to: 2)
      }.joined()
    }.joined(separator: "/")
  }

  static var command: String {
    (["easim"] + CommandLine.arguments.dropFirst().map(\.shellWord)).joined(separator: " ")
  }

  func conclude(_ report: some Report) {
    let verdict = report.outcome
    conclude(verdict.word, ([report.headline] + verdict.reasons).joined(separator: "; "))
  }

  func conclude(_ word: String, _ text: String) { verdict = TraceVerdict(word, text) }

  func finish(_ code: ExitCode, _ console: Console) {
    guard isWanted else { return }
    let word = code == .done ? "finished" : StopSignals.first == nil ? "failed" : "stopped"
    var verdict = verdict ?? TraceVerdict(word, lastLine)
    if code != .done, verdict.word == "passed" { verdict = TraceVerdict("failed", lastLine) }
    if let reason = PatientFile.write(recorder.page(verdict, of: runs), to: file) { console.lose(name, reason) }
  }
}
