import AccessoryFormats
import AccessoryRuns

/// The runs in the folder of `easim serve --keep DIR`, including runs of earlier servers. Each run has its own folder,
/// which contains `run.json` and the run's reports.
struct KeptRuns {
  static let mostListed = 1_000
  private static let folder = "runs"

  let files: any KeptFiles

  /// Writes a run that has ended. Returns an explanation if writing fails.
  func keep(_ job: ControlledJob) -> String? {
    let name = "\(Self.folder)/\(files.stamp)-\(job.id)-\(job.kind.rawValue)"
    do {
      for form in ReportForm.ofJobs {
        guard let report = try? job.report(form) else { continue }
        try files.write(Array(report.utf8), to: "\(name)/\(form.fileName)")
      }
      let state = JSON5Writer.write(JobState.format.tree(job.state), as: .json)
      try files.write(Array(state.utf8), to: "\(name)/run.json")
      return nil
    } catch { return "the reports of the job '\(job.id)' were not kept: \(error)" }
  }

  /// Returns the most recent runs, oldest first.
  func list() -> [(name: String, state: JobState)] {
    files.names(in: Self.folder).suffix(Self.mostListed).compactMap { name in
      guard let bytes = files.read("\(Self.folder)/\(name)/run.json"), let tree = try? JSON5.read(bytes, file: name),
        let state = try? JobState.format.read(tree)
      else { return nil }
      return (name, state)
    }
  }

  func report(_ run: String, _ form: ReportForm) throws(RPCError) -> String {
    let names = files.names(in: Self.folder)
    guard names.contains(run) else {
      throw RPCError(.unknown, "there is no kept run '\(Excerpt.of(run))'\(Suggestion.nearHint(for: run, in: names))")
    }
    guard let bytes = files.read("\(Self.folder)/\(run)/\(form.fileName)") else {
      throw RPCError(.params, "form: the run '\(run)' has no report in the form '\(form.rawValue)'")
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension ReportForm {
  fileprivate var fileName: String { "report.\(self == .text ? "txt" : rawValue)" }
}

extension KeptRuns {
  static let answer = Answer<(name: String, state: JobState)>("kept run", "a finished run in the --keep folder") {
    Key("run", .text, "the run's name") { $0.name }
    Key("kind", .choice, "what was run") { $0.state.kind }
    Key("title", .text, "a short description") { $0.state.title }
    Key("state", .choice, "how the run ended") { $0.state.state }
    Key(optional: "text", .text, "the result in one sentence") { $0.state.text }
  }
}

/// The folder for captures and reports, as named by `easim serve --keep DIR`.
package protocol KeptFiles: AnyObject {
  /// The current time, as a prefix for file names that sort by time.
  var stamp: String { get }

  /// Creates a file. The file must not exist yet. `name` is a path relative to the folder.
  func makeFile(_ name: String) throws -> any KeptFile

  /// Writes a complete file.
  func write(_ bytes: [UInt8], to name: String) throws

  /// Returns the names of the files in a subfolder, in sorted order.
  func names(in folder: String) -> [String]

  /// Returns the contents of a file, or nil if it does not exist.
  func read(_ name: String) -> [UInt8]?
}

/// A file that is written piece by piece.
package protocol KeptFile: AnyObject {
  /// Writes a piece. If writing fails, returns an explanation and writes nothing more.
  func write(_ bytes: [UInt8]) -> String?

  /// Closes the file.
  func close()
}
