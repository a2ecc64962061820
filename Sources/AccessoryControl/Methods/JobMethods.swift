import AccessoryFormats
import AccessoryLoad
import AccessoryRuns
import AccessorySoak
import AccessoryWorlds

extension ControlMethods {
  /// The methods for jobs: runs that continue while other requests are answered.
  static let jobs: [ControlMethod] = [
    ControlMethod(
      "burst.run",
      "Run a load test with an accessory in a world, as `easim burst` does: a separate app opens sessions, sends "
        + "bursts and verifies the replies.",
      BurstChoices.format, .new("job"), errors: [.unknown, .gone, .limit],
      example: "{\"accessory\":\"a1\",\"bursts\":20}"
    ) { call, params in
      let world = try call.server.world(params.world)
      let accessory = try params.accessory.map { try call.server.accessories.find($0) }
      if let accessory, accessory.world !== world {
        throw RPCError(.params, "accessory: '\(accessory.id)' is in the world '\(accessory.world.id)'")
      }
      let extent = params.time.map { "bursts for \(DurationText.format($0))" } ?? params.bursts.counted("burst")
      let job = try ControlledJob.make(.burst, "\(extent) of \(params.size.counted("byte"))", in: world, call)
      _ = BurstJob(params.plan, job, with: accessory, limits: params.limits)
      return job.id
    },
    ControlMethod(
      "scenario.run", "Run a scenario in virtual time in a separate world, as `easim scenario run` does.",
      ScenarioChoices.format, .new("job"), errors: [.limit], example: "{\"scenario\":\"flicker\"}"
    ) { call, params in
      let scenario = try ScenarioLibrary(profiles: call.profiles).scenario(params.scenario)
      let wanted = params.client == "naive" ? scenario.naiveClient ?? ScenarioClients.robust.name : params.client
      guard let client = ScenarioClients.named(wanted) else {
        throw RPCError(
          .params, "client: unknown client '\(Excerpt.of(wanted))'\(ScenarioClients.hint(forUnknown: wanted))")
      }
      let job = try ControlledJob.make(.scenario, scenario.name, in: try call.server.world("main"), call)
      job.play(scenario, client: client, named: wanted, seed: params.seed ?? scenario.seed ?? 1)
      return job.id
    },
    ControlMethod(
      "scenario.play",
      "Play a scenario's accessories and cables in a world, for an app that runs there: the steps happen in the world's "
        + "time, and what the app sees is compared with the scenario. The device is the world's own.",
      LivePlaying.format, .new("job"), errors: [.unknown, .gone, .limit, .state],
      example: "{\"scenario\":\"flicker\",\"app\":\"p1\"}", exampleResult: "{\"job\":\"j4\"}"
    ) { call, params in
      let scenario = try ScenarioLibrary(profiles: call.profiles).scenario(params.scenario)
      let world = try call.server.world(params.world)
      let app = try params.app.map { try call.server.apps.find($0) } ?? world.apps.first
      guard let app, app.world === world else {
        let what = app.map { "the app '\($0.id)' is not in the world" } ?? "no app runs in the world"
        throw RPCError(.state, "\(what) '\(world.id)'", advice: "call app.launch first")
      }
      let job = try ControlledJob.make(.scenario, "\(scenario.name) with \(app.name)", in: world, call)
      return try LiveScenario(scenario, with: app, job).start()
    },
    ControlMethod(
      "soak.run", "Run random worlds generated from seeds and check every rule, as `easim soak` does.",
      SoakChoices.format,
      .new("job"), errors: [.limit], example: "{\"seed\":1,\"seeds\":3}"
    ) { call, params in
      let title = params.seeds.counted("world")
      let job = try ControlledJob.make(.soak, title, in: try call.server.world("main"), call)
      job.soak(from: params.seed, count: params.seeds)
      return job.id
    },
    ControlMethod(
      later: "job.wait", "Wait until a job ends; in a world with virtual time, this advances the clock until then.",
      JobWaiting.format, ControlledJob.answer, effect: .reads, errors: [.unknown, .gone],
      example: "{\"job\":\"j1\",\"limit\":\"10s\"}"
    ) { call, params, answer in
      let job = try call.server.jobs.find(params.job)
      let world = job.world
      world.wait(
        ControlWait(call, until: world.loop.now + params.limit, isDone: { job.outcome != nil }) { end in
          if case .failed(let error) = end { answer(.failure(error)) } else { answer(.success(job)) }
        })
    },
    ControlMethod(
      "job.state", "Get the state of a job.", .id(of: "job"), ControlledJob.answer, effect: .reads,
      errors: [.unknown, .gone],
      example: "{\"job\":\"j1\"}"
    ) { call, id in try call.server.jobs.find(id) },
    ControlMethod(
      "job.list",
      "List the jobs, including finished ones. The server keeps the last \(ControlledJob.mostKept) jobs and their "
        + "reports.",
      Nothing.params,
      .list("jobs", ControlledJob.answer, "in the order they were started"),
      effect: .reads
    ) { call, _ in call.server.jobs.all },
    ControlMethod(
      "job.cancel", "Stop a job; the report covers what was done so far.", .id(of: "job"), ControlledJob.answer,
      errors: [.unknown, .gone], example: "{\"job\":\"j1\"}"
    ) { call, id in
      let job = try call.server.jobs.find(id)
      job.stop()
      return job
    },
    ControlMethod(
      "job.report",
      "Get the report of a finished job. `json` is the format of `--report FILE.json` for load and soak tests, "
        + "and of `--json` for scenarios; `xml` is JUnit XML.",
      JobReporting.format, jobReport, effect: .reads, errors: [.unknown, .gone, .state],
      example: "{\"job\":\"j2\",\"form\":\"text\"}"
    ) { call, params in
      try call.server.jobs.find(params.job).report(params.form)
    },
    ControlMethod(
      "job.kept",
      "List the last \(KeptRuns.mostListed) runs in the `easim serve --keep DIR` folder, including runs of earlier "
        + "servers.",
      Nothing.params, .list("runs", KeptRuns.answer, "oldest first"), effect: .reads,
      errors: [.state],
      exampleResult:
        "{\"runs\":[{\"run\":\"2026-11-22T12.00.00Z-j1-burst\",\"kind\":\"burst\",\"title\":\"20 bursts of 10000 "
        + "bytes\",\"state\":\"passed\",\"text\":\"…\"}]}"
    ) { call, _ in try kept(call).list() },
    ControlMethod(
      "job.keptReport", "Get the report of a run in the `easim serve --keep DIR` folder.", KeptReporting.format,
      jobReport, effect: .reads, errors: [.unknown, .state],
      example: "{\"run\":\"2026-11-22T12.00.00Z-j1-burst\",\"form\":\"text\"}",
      exampleResult: "{\"report\":\"…\"}"
    ) { call, params in try kept(call).report(params.run, params.form) },
  ]

  private static let jobReport = Answer<String>.only("job report", "report", .text, "the whole report")

  private static func kept(_ call: ControlCall) throws(RPCError) -> KeptRuns {
    guard let files = call.server.settings.kept else {
      throw RPCError(.state, "this server keeps no runs", advice: "start it with --keep DIR, or call job.list")
    }
    return KeptRuns(files: files)
  }
}

private struct BurstChoices: Equatable, Sendable {
  enum Verification: String, CaseIterable, Sendable {
    case echo
    case none
  }

  var world = "main"
  var accessory: String?
  var protocolName: String?
  var bursts = 100
  var time: Duration?
  var limits: [BurstLimit] = []
  var size = 10_000
  var sessions = 1
  var inFlight = 1
  var rate: Double?
  var verification = Verification.echo
  var timeout = Duration.seconds(10)
  var reconnects = false
  var allowsLost = false

  static let format = Record("burst", "", BurstChoices()) {
    Field("world", \.world, .text, "the id of the world")
    Field("accessory", \.accessory, .optional(.text), "the id of the accessory (default: the first one to connect)")
    Field("protocol", \.protocolName, .optional(.text), "the protocol; required if the accessory offers several")
    Field("bursts", \.bursts, .integer(1...100_000_000), "number of bursts")
    Field(
      "duration", \.time, .optional(.duration(.milliseconds(1) ... .seconds(7 * 86_400))),
      "how long to send bursts, instead of a number of them")
    Field(
      "failIf", \.limits, .list(of: .limit),
      "conditions that fail the run, as for `easim burst --fail-if`: `p99>50ms`, `rate<100/s`, `errors>0.1%`")
    Field("size", \.size, .integer(1...16_777_216), "bytes per burst")
    Field("sessions", \.sessions, .integer(1...256), "number of sessions")
    Field("inFlight", \.inFlight, .integer(1...1_024), "maximum number of bursts in flight on each session")
    Field("rate", \.rate, .optional(.number(0.001...1_000_000)), "bursts per second (default: as fast as possible)")
    Field("verify", \.verification, .choice, "echo: every byte must come back; none: no reply is expected")
    Field(
      "timeout", \.timeout, .duration(.milliseconds(1) ... .seconds(3_600)),
      "maximum duration of a burst, and of a disconnect")
    Field(
      "reconnects", \.reconnects, .boolean,
      "whether the run continues when the accessory disconnects and comes back")
    Field("allowLost", \.allowsLost, .boolean, "with `reconnects`: whether the run can pass even if bursts were lost")
  }

  var plan: BurstPlan {
    var plan = BurstPlan()
    plan.payload = .unique(size: size)
    plan.extent = time.map { .time($0) } ?? .bursts(bursts)
    (plan.sessions, plan.inFlight) = (sessions, inFlight)
    if let rate { plan.pace = .rate(burstsPerSecond: rate) }
    plan.verification = verification == .echo ? .echo : .nothing
    (plan.timeout, plan.protocolName) = (timeout, protocolName)
    (plan.reconnects, plan.allowsLost) = (reconnects, allowsLost)
    return plan
  }
}

private struct LivePlaying: Equatable, Sendable {
  var scenario = ""
  var world = "main"
  var app: String?

  static let format = Record("playing a scenario live", "", LivePlaying()) {
    Field("scenario", \.scenario, .text, "the name or path of the scenario", isRequired: true)
    Field("world", \.world, .text, "the id of the world")
    Field("app", \.app, .optional(.text), "the id of the app under test (default: the world's first)")
  }
}

private struct ScenarioChoices: Equatable, Sendable {
  var scenario = ""
  var client = ScenarioClients.robust.name
  var seed: UInt64?

  static let format = Record("scenario choices", "", ScenarioChoices()) {
    Field("scenario", \.scenario, .text, "the name or path of the scenario", isRequired: true)
    Field("client", \.client, .text, "the client to run: a name, or `naive` for the client that the scenario breaks")
    Field("seed", \.seed, .optional(.integer(0...UInt64(Int.max))), "random seed (default: the scenario's)")
  }
}

private struct SoakChoices: Equatable, Sendable {
  var seed: UInt64 = 1
  var seeds = 100

  static let format = Record("soak choices", "", SoakChoices()) {
    Field("seed", \.seed, .integer(0...UInt64(Int.max)), "the first seed")
    Field("seeds", \.seeds, .integer(1...100_000_000), "number of seeds, one world each")
  }
}

private struct JobWaiting: Equatable, Sendable {
  var job = ""
  var limit = Duration.seconds(60)

  static let format = Record("waiting for a job", "", JobWaiting()) {
    Field("job", \.job, .text, "the id of the job", isRequired: true)
    Field("limit", \.limit, .duration(.zero ... .seconds(86_400)), "how long to wait, on the clock of the job's world")
  }
}

private struct JobReporting: Equatable, Sendable {
  var job = ""
  var form = ReportForm.json

  static let format = Record("asking for a report", "", JobReporting()) {
    Field("job", \.job, .text, "the id of the job", isRequired: true)
    Field("form", \.form, .choice(of: ReportForm.ofJobs), "its form")
  }
}

private struct KeptReporting: Equatable, Sendable {
  var run = ""
  var form = ReportForm.json

  static let format = Record("asking for a kept report", "", KeptReporting()) {
    Field("run", \.run, .text, "the name of the run", isRequired: true)
    Field("form", \.form, .choice(of: ReportForm.ofJobs), "its form")
  }
}
