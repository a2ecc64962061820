import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessoryRuns
import Glibc
import LinuxIO

/// The folder of `easim serve --keep DIR`, which contains captures that are written during recording, and the runs of
/// this server and of earlier ones. Each run has its own folder, which contains `run.json` and the run's reports.
package final class KeptFolder {
  static let mostListed = 1_000
  private static let longestFile = 256 << 20

  private let path: String

  /// Uses an existing folder, which contains the folders `captures` and `runs`.
  package init(_ path: String) { self.path = path }

  /// The current time, as a prefix for file names that sort by time.
  private var stamp: String {
    CalendarTime(secondsSince1970: time(nil)).text.replacing(":", with: ".") + "Z"
  }

  /// Creates a file for a capture. The file must not exist yet.
  func makeCapture(_ name: String) throws -> KeptFile {
    let path = "\(path)/captures/\(stamp)-\(name)"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard descriptor >= 0 else { throw SystemError("write \(path)", code: errno) }
    return KeptFile(descriptor)
  }

  /// Writes a run that has ended. Returns an explanation if writing fails.
  func keep(_ job: ControlledJob) -> String? {
    let folder = "\(path)/runs/\(stamp)-\(job.id)-\(job.kind.rawValue)"
    do {
      if mkdir(folder, 0o755) != 0, errno != EEXIST { throw SystemError("make \(folder)", code: errno) }
      for form in ReportForm.ofJobs {
        guard let report = try? job.report(form) else { continue }
        try WholeFile("\(folder)/\(form.fileName)").write(Array(report.utf8))
      }
      let state = JSON5Writer.write(ControlledJob.answer.tree(job), as: .json)
      try WholeFile("\(folder)/run.json").write(Array(state.utf8))
      return nil
    } catch { return "the reports of the job '\(job.id)' were not kept: \(error)" }
  }

  private var runs: [String] { (Folder.names(in: "\(path)/runs") ?? []).filter { !$0.hasPrefix(".") } }

  private func read(_ name: String) -> [UInt8]? { try? TextFile.read("\(path)/runs/\(name)", limit: Self.longestFile) }

  /// Returns the most recent runs with the contents of their files `run.json`, oldest first.
  func list() -> [KeptRun] {
    runs.suffix(Self.mostListed).compactMap { name in
      guard let bytes = read("\(name)/run.json"), let state = try? JSON5.read(bytes, file: name),
        let kind = ControlledJob.Kind(rawValue: state["kind"]?.word ?? ""),
        let word = ControlledJob.State(rawValue: state["state"]?.word ?? "")
      else { return nil }
      return (name, kind, word, state)
    }
  }

  func report(_ run: String, _ form: ReportForm) throws(RPCError) -> String {
    let names = runs
    guard names.contains(run) else {
      throw RPCError(.unknown, "there is no kept run '\(Excerpt.of(run))'\(Suggestion.nearHint(for: run, in: names))")
    }
    guard let bytes = read("\(run)/\(form.fileName)") else {
      throw RPCError(.params, "form: the run '\(run)' has no report in the form '\(form.rawValue)'")
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  typealias KeptRun = (name: String, kind: ControlledJob.Kind, state: ControlledJob.State, file: JSON5Value)

  static let answer = Answer<KeptRun>("kept run", "a finished run in the --keep folder") {
    Key("run", .text, "the run's name") { $0.name }
    Key("kind", .choice, "what was run") { $0.kind }
    Key("title", .text, "a short description") { $0.file["title"]?.word ?? "" }
    Key("state", .choice, "how the run ended") { $0.state }
    Key(optional: "text", .text, "the result in one sentence") { $0.file["text"]?.word }
  }
}

extension ReportForm {
  fileprivate var fileName: String { "report.\(self == .text ? "txt" : rawValue)" }
}

final class KeptFile {
  private var descriptor: Int32

  fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close() }

  /// Writes a piece. If writing fails, returns an explanation and writes nothing more.
  func write(_ bytes: [UInt8]) -> String? {
    guard descriptor >= 0, let code = FileWriting.write(bytes, to: descriptor) else { return nil }
    close()
    return "it could not be written: \(String(cString: strerror(code)))"
  }

  func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }
}
