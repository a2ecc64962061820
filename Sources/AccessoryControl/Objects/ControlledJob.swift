import AccessoryFormats
import AccessoryPages
import AccessoryRuns

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
