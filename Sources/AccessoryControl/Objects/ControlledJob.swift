import AccessoryCore

/// A run that takes a while: bursts, a scenario, seeded worlds. It reports its progress, can be cancelled, and keeps its
/// report when it is over.
final class ControlledJob {
  /// The most jobs that are kept; of more, the oldest that are over are forgotten.
  static let mostKept = 100

  /// What a run is.
  enum Kind: String, CaseIterable, Sendable {
    case burst
    case scenario
    case soak
  }

  let id: String
  let kind: Kind
  /// What is run, in a few words.
  let title: String
  let world: ControlWorld
  private weak var client: ControlClient?
  /// Stops the run; it then ends with what it has.
  var stop: () -> Void = {}
  /// The whole report in a form.
  var report: (JobReportForm) throws(RPCError) -> String = { _ throws(RPCError) in
    throw RPCError(.state, "the job has no report yet", advice: "wait for it: job.wait")
  }
  /// What was measured so far.
  var figures: () -> JSON5Value? = { nil }
  private(set) var fraction = 0.0
  private(set) var outcome: Outcome?
  /// Why its reports are not in the folder of --keep.
  private var keepFailure: String?

  /// How it ended.
  struct Outcome {
    let passed: Bool
    let isCancelled: Bool
    let text: String
  }

  init(_ id: String, _ kind: Kind, _ title: String, in world: ControlWorld, for client: ControlClient) {
    (self.id, self.kind, self.title, self.world) = (id, kind, title, world)
    self.client = client.isTransient ? nil : client
  }

  /// Makes room for another, and the job.
  static func make(
    _ kind: Kind, _ title: String, in world: ControlWorld, _ call: ControlCall
  ) throws(RPCError) -> ControlledJob {
    let server = call.server
    if server.jobs.count >= mostKept {
      guard let oldest = server.jobs.all.first(where: { $0.outcome != nil }) else {
        throw RPCError(.limit, "\(mostKept) jobs are running already", advice: "cancel some with job.cancel")
      }
      server.jobs.remove(oldest.id)
    }
    let job = ControlledJob(try server.jobs.issue(), kind, title, in: world, for: call.client)
    server.jobs.put(job, named: job.id)
    return job
  }

  /// Reports how far it has come, from 0 to 1.
  func progress(_ fraction: Double) {
    guard outcome == nil else { return }
    self.fraction = min(max(fraction, 0), 1)
    tell("progress")
  }

  /// It is over.
  func end(passed: Bool, isCancelled: Bool = false, _ text: String) {
    guard outcome == nil else { return }
    if !isCancelled { fraction = 1 }
    outcome = Outcome(passed: passed, isCancelled: isCancelled, text: text)
    stop = {}
    if let files = world.server.settings.kept { keepFailure = KeptRuns(files: files).keep(self) }
    tell("ended")
    world.recheck()
  }

  private func tell(_ event: String) {
    let clients = world.server.clients.filter { $0 === client || $0.isObserver }
    guard !clients.isEmpty else { return }
    guard case .object(let members) = JobState.format.tree(state).content else { return }
    let event = JSON5Member("event", .text(event))
    let params = String(JSON5Writer.write(.object([event] + members), as: .jsonLine).dropLast())
    for client in clients { client.notify("job", params) }
  }

  /// The program, as reports name it.
  var program: String { "easim \(world.server.settings.version)" }

  var state: JobState {
    JobState(
      job: id, kind: kind, title: title, world: world.id,
      state: outcome.map { $0.isCancelled ? .cancelled : $0.passed ? .passed : .failed } ?? .running,
      fraction: fraction, figures: figures(), text: outcome?.text, keepFailure: keepFailure)
  }
}

/// The forms of a report.
enum JobReportForm: String, CaseIterable, Sendable {
  case json
  case text
  case html
  case xml
}

/// A job as `job.state` shows it.
struct JobState: Equatable, Sendable {
  enum Word: String, CaseIterable, Sendable {
    case running
    case passed
    case failed
    case cancelled
  }

  var job = ""
  var kind = ControlledJob.Kind.burst
  var title = ""
  var world = ""
  var state = Word.running
  var fraction = 0.0
  var figures: JSON5Value?
  var text: String?
  var keepFailure: String?

  static let format = Record("job state", "a run and its state", JobState()) {
    Field("job", \.job, .text, "its id", isRequired: true)
    Field("kind", \.kind, .choice, "what is run", isRequired: true)
    Field("title", \.title, .text, "what is run, in a few words", isRequired: true)
    Field("world", \.world, .text, "the world in which it runs, or on whose clock it is waited for", isRequired: true)
    Field("state", \.state, .choice, "whether it runs, and how it ended", isRequired: true)
    Field("fraction", \.fraction, .number(0...1), "how far it has come, from 0 to 1", isRequired: true)
    Field(
      "figures", \.figures, .optional(.raw("figures")),
      "of bursts: `bursts`, `bytes`, `errors`, `reconnections`, `seconds`, and `latency` with `p50`, `p95`, `p99` and "
        + "`maximum` in seconds")
    Field("text", \.text, .optional(.text), "how it ended, in a sentence")
    Field("keepFailure", \.keepFailure, .optional(.text), "why its reports are not in the folder of --keep")
  }
}
