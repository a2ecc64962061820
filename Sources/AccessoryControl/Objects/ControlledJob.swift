import AccessoryCore
import AccessoryFormats
import AccessoryPages
import AccessoryProfiles
import AccessoryRuns
import Glibc
import LinuxIO

/// A run that takes a while, such as a load test, a scenario, or worlds generated from seeds. A job reports its
/// progress, can be cancelled, and keeps its report after it has ended.
final class ControlledJob {
  /// The maximum number of jobs. If there are more jobs, the oldest job that has ended is dropped.
  static let mostKept = 100

  enum Kind: String, CaseIterable, Sendable {
    case burst
    case scenario
    case soak
  }

  enum State: String, CaseIterable, Sendable {
    case running
    case passed
    case failed
    case cancelled
  }

  let id: String
  let kind: Kind
  let title: String
  let world: ControlWorld
  private weak var client: ControlClient?
  /// Stops the run. The run then ends with the results collected so far.
  var stop: () -> Void = {}
  private var result: (any Report)?
  /// Reports in older formats, which existing programs still read.
  private var ownForms: [ReportForm: String] = [:]
  var figures: () -> JSON5Value? = { nil }
  /// The trace recorder of a run that has its own world, or nil if the run uses ``world``.
  var trace: TraceRecorder?
  private(set) var fraction = 0.0
  /// How the job ended, with the result in one sentence, or nil while it is running.
  private(set) var outcome: (state: State, text: String)?
  /// The error from writing the job's reports to the folder of `--keep`, or nil if there was none.
  private var keepFailure: String?

  init(_ id: String, _ kind: Kind, _ title: String, in world: ControlWorld, for client: ControlClient) {
    (self.id, self.kind, self.title, self.world) = (id, kind, title, world)
    self.client = client.isTransient ? nil : client
  }

  static func make(
    _ kind: Kind, _ title: String, in world: ControlWorld, _ call: ControlCall
  ) throws(RPCError) -> ControlledJob {
    let server = call.server
    if server.jobs.count >= mostKept {
      guard let oldest = server.jobs.all.first(where: { $0.outcome != nil }) else {
        throw RPCError(.limit, "\(mostKept) jobs are already running", advice: "cancel some with job.cancel")
      }
      server.jobs.remove(oldest.id)
    }
    let job = ControlledJob(try server.jobs.issue(), kind, title, in: world, for: call.client)
    server.jobs.put(job, named: job.id)
    return job
  }

  func progress(_ fraction: Double) {
    guard outcome == nil else { return }
    self.fraction = min(max(fraction, 0), 1)
    emit("progress")
  }

  /// Calls `step` once per turn of the loop, so that other clients are served in between. `step` is called until it
  /// returns nil or the job is cancelled. After the last call, `finish` is called, which ends the job. `step` returns
  /// the progress, or nil if the work is done.
  func work(_ step: @escaping () throws -> Double?, finish: @escaping (_ isCancelled: Bool, _ failure: String?) -> Void)
  {
    var isCancelled = false
    stop = { isCancelled = true }
    func turn() {
      if isCancelled { return finish(true, nil) }
      do {
        guard let fraction = try step() else { return finish(false, nil) }
        if fraction != self.fraction { progress(fraction) }
      } catch { return finish(false, "\(error)") }
      world.server.later(turn)
    }
    world.server.later(turn)
  }

  func report(_ form: ReportForm) throws(RPCError) -> String {
    guard let result else { throw RPCError(.state, "the job has no report yet", advice: "wait for it: job.wait") }
    return ownForms[form] ?? (form == .json ? result.json.text : result.text(as: form))
  }

  func end(_ report: some Report, isCancelled: Bool, _ text: String, ownForms: [ReportForm: String] = [:]) {
    guard outcome == nil else { return }
    (result, self.ownForms) = (report, ownForms)
    if !isCancelled { fraction = 1 }
    outcome = (isCancelled ? .cancelled : report.passed ? .passed : .failed, text)
    stop = {}
    keepFailure = world.server.settings.kept?.keep(self)
    emit("ended")
    world.recheck()
  }

  private func emit(_ event: String) {
    var params: JSONObject = ["event": event]
    params.add(JSONObject(Self.answer.tree(self)))
    world.server.notify("job", params.text) { $0 === client || $0.isObserver }
  }

  var program: String { "easim \(world.server.settings.version)" }

  var state: State { outcome?.state ?? .running }

  static let answer = Answer<ControlledJob>("job state", "a run and its state") {
    Key("job", .text, "the job's id") { $0.id }
    Key("kind", .choice, "the kind of run") { $0.kind }
    Key("title", .text, "a short description") { $0.title }
    Key("world", .text, "the world in which the job runs, or whose clock limits `job.wait`") { $0.world.id }
    Key("state", .choice, "whether the job is running, or how it ended") { $0.state }
    Key("fraction", .number(0...1), "progress from 0 to 1") { $0.fraction }
    Key(
      optional: "figures", .raw("figures"),
      "the figures of a load test: `bursts`, `bytes`, `errors`, `reconnections`, `seconds`, and `latency` with `p50`, "
        + "`p95`, `p99` and `maximum` in seconds"
    ) { $0.figures() }
    Key(optional: "text", .text, "the result in one sentence") { $0.outcome?.text }
    Key(optional: "keepFailure", .text, "why the job's reports are not in the --keep folder") { $0.keepFailure }
  }
}

extension ReportForm {
  static let ofJobs: [ReportForm] = [.json, .text, .html, .xml]
}

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
