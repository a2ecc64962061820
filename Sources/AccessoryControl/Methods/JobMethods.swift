import AccessoryFormats
import AccessoryLoad
import AccessoryRuns
import AccessorySoak
import AccessoryWorlds

extension ControlMethods {
  static let jobs: [ControlMethod] = [
    ControlMethod(
      "burst.run",
      "Run a load test with an accessory in a world, as `easim burst` does: a separate app opens sessions, sends "
        + "bursts and verifies the replies.",
      .all(BurstChoices.format), .new("job"), errors: [.unknown, .gone, .limit],
      example: "{\"accessory\":\"a1\",\"bursts\":20}"
    ) { call, params in
      let world = try call.server.world(params.world)
      let accessory = try params.accessory.map { try call.server.accessories.find($0) }
      if let accessory, accessory.world !== world {
        throw RPCError(.params, "accessory: '\(accessory.id)' is in the world '\(accessory.world.id)'")
      }
      let extent = params.time.map { "bursts for \(DurationText.format($0))" } ?? params.bursts.counted("burst")
      let job = try ControlledJob.make(.burst, "\(extent) of \(params.size.counted("byte"))", in: world, call)
      _ = BurstJob(params.whole, job, with: accessory)
      return job.id
    },
    ControlMethod(
      "scenario.run", "Run a scenario in virtual time in a separate world, as `easim scenario run` does.",
      .init(
        "scenario choices", Argument(text: "scenario", "the name or path of the scenario"),
        Argument(
          "client", .text, "the client to run: a name, or `naive` for the client that the scenario breaks",
          from: ScenarioClients.robust.name),
        Argument(optional: "seed", .integer(0...UInt64(Int.max)), "random seed (default: the scenario's)")),
      .new("job"), errors: [.limit], example: "{\"scenario\":\"flicker\"}"
    ) { call, scenario, client, seed in
      let scenario = try ScenarioLibrary(profiles: call.profiles).scenario(scenario)
      let wanted = client == "naive" ? scenario.naiveClient ?? ScenarioClients.robust.name : client
      guard let client = ScenarioClients.named(wanted) else {
        throw RPCError(
          .params, "client: unknown client '\(Excerpt.of(wanted))'\(ScenarioClients.hint(forUnknown: wanted))")
      }
      let job = try ControlledJob.make(.scenario, scenario.name, in: try call.server.world("main"), call)
      job.play(scenario, client: client, named: wanted, seed: seed ?? scenario.seed ?? 1)
      return job.id
    },
    ControlMethod(
      "scenario.play",
      "Run a scenario's accessory and cable events in a world, for an app that runs there. The steps happen at the "
        + "world's time, and easim compares the events that the app sees with the scenario. The scenario uses the "
        + "world's own device.",
      .init(
        "playing a scenario live", Argument(text: "scenario", "the name or path of the scenario"), .world,
        Argument(optional: "app", .text, "the id of the app under test (default: the world's first)")),
      .new("job"), errors: [.unknown, .gone, .limit, .state],
      example: "{\"scenario\":\"flicker\",\"app\":\"p1\"}", exampleResult: "{\"job\":\"j4\"}"
    ) { call, scenario, world, app in
      let scenario = try ScenarioLibrary(profiles: call.profiles).scenario(scenario)
      let world = try call.server.world(world)
      let app = try app.map { try call.server.apps.find($0) } ?? world.apps.first
      guard let app, app.world === world else {
        let what = app.map { "the app '\($0.id)' is not in the world" } ?? "no app runs in the world"
        throw RPCError(.state, "\(what) '\(world.id)'", advice: "call app.launch first")
      }
      let job = try ControlledJob.make(.scenario, "\(scenario.name) with \(app.name)", in: world, call)
      return try LiveScenario(scenario, with: app, job).start()
    },
    ControlMethod(
      "soak.run", "Run random worlds generated from seeds and check every rule, as `easim soak` does.",
      .init(
        "soak choices", Argument("seed", .integer(0...UInt64(Int.max)), "the first seed", from: 1),
        Argument("seeds", .integer(1...100_000_000), "number of seeds, one world each", from: 100)),
      .new("job"), errors: [.limit], example: "{\"seed\":1,\"seeds\":3}"
    ) { call, seed, seeds in
      let title = seeds.counted("world")
      let job = try ControlledJob.make(.soak, title, in: try call.server.world("main"), call)
      job.soak(from: seed, count: seeds)
      return job.id
    },
    ControlMethod(
      later: "job.wait", "Wait until a job ends; in a world with virtual time, this advances the clock until then.",
      .init(
        "waiting for a job", .id(of: "job"),
        Argument(
          "limit", .duration(.zero ... .seconds(86_400)), "how long to wait, on the clock of the job's world",
          from: .seconds(60))),
      ControlledJob.answer, effect: .reads, errors: [.unknown, .gone],
      example: "{\"job\":\"j1\",\"limit\":\"10s\"}"
    ) { call, answer, job, limit in
      let job = try call.server.jobs.find(job)
      job.world.wait(call, until: job.world.loop.now + limit, isDone: { job.outcome != nil }) { _, _ in
        answer(.success(job))
      }
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
      .none, .list("jobs", ControlledJob.answer, "the jobs, in the order in which they were started"),
      effect: .reads
    ) { call in call.server.jobs.all },
    ControlMethod(
      "job.cancel", "Stop a job; its report covers everything up to then.", .id(of: "job"), ControlledJob.answer,
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
      .init("asking for a report", .id(of: "job"), reportForm), jobReport, effect: .reads,
      errors: [.unknown, .gone, .state], example: "{\"job\":\"j2\",\"form\":\"text\"}"
    ) { call, job, form in try call.server.jobs.find(job).report(form) },
    ControlMethod(
      "job.kept",
      "List the last \(KeptFolder.mostListed) runs in the `easim serve --keep DIR` folder, including runs of earlier "
        + "servers.",
      .none, .list("runs", KeptFolder.answer, "oldest first"), effect: .reads,
      errors: [.state],
      exampleResult:
        "{\"runs\":[{\"run\":\"2026-11-22T12.00.00Z-j1-burst\",\"kind\":\"burst\",\"title\":\"20 bursts of 10000 "
        + "bytes\",\"state\":\"passed\",\"text\":\"…\"}]}"
    ) { call in try kept(call).list() },
    ControlMethod(
      "job.keptReport", "Get the report of a run in the `easim serve --keep DIR` folder.",
      .init("asking for a kept report", Argument(text: "run", "the name of the run"), reportForm), jobReport,
      effect: .reads, errors: [.unknown, .state],
      example: "{\"run\":\"2026-11-22T12.00.00Z-j1-burst\",\"form\":\"text\"}",
      exampleResult: "{\"report\":\"…\"}"
    ) { call, run, form in try kept(call).report(run, form) },
  ]

  private static let reportForm = Argument("form", .choice(of: ReportForm.ofJobs), "its form", from: ReportForm.json)
  private static let jobReport = Answer<String>.only("job report", "report", .text, "the whole report")

  private static func kept(_ call: ControlCall) throws(RPCError) -> KeptFolder {
    guard let kept = call.server.settings.kept else {
      throw RPCError(.state, "this server keeps no runs", advice: "start it with --keep DIR, or call job.list")
    }
    return kept
  }
}

private struct BurstChoices: Equatable, Sendable {
  var world = "main"
  var accessory: String?
  var bursts = 100
  var time: Duration?
  var size = 10_000
  var rate: Double?
  var plan = BurstPlan()

  static let format = Record("burst", "", BurstChoices()) {
    Field("world", \.world, .text, "the id of the world")
    Field("accessory", \.accessory, .optional(.text), "the id of the accessory (default: the first one to connect)")
    Field("protocol", \.plan.protocolName, .optional(.text), "the protocol; required if the accessory offers several")
    Field("bursts", \.bursts, .integer(1...100_000_000), "number of bursts")
    Field(
      "duration", \.time, .optional(.duration(.milliseconds(1) ... .seconds(7 * 86_400))),
      "how long to send bursts; use this instead of a number of bursts")
    Field(
      "failIf", \.plan.limits, .list(of: .limit),
      "conditions that fail the run, as for `easim burst --fail-if`: `p99>50ms`, `rate<100/s`, `errors>0.1%`")
    Field("size", \.size, .integer(1...16_777_216), "bytes per burst")
    Field("sessions", \.plan.sessions, .integer(1...256), "number of sessions")
    Field("inFlight", \.plan.inFlight, .integer(1...1_024), "maximum number of bursts in flight on each session")
    Field("rate", \.rate, .optional(.number(0.001...1_000_000)), "bursts per second (default: as fast as possible)")
    Field(
      "verify", \.plan.verification, .words([("echo", .echo), ("none", .nothing)]),
      "echo: every byte must come back; none: no reply is expected")
    Field(
      "timeout", \.plan.timeout, .duration(.milliseconds(1) ... .seconds(3_600)),
      "maximum duration of a burst, and of a disconnect")
    Field(
      "reconnects", \.plan.reconnects, .boolean,
      "whether the run continues when the accessory disconnects and comes back")
    Field(
      "allowLost", \.plan.allowsLost, .boolean,
      "with `reconnects`: whether the run can pass even if bursts were lost")
  }

  var whole: BurstPlan {
    var plan = plan
    plan.payload = .unique(size: size)
    plan.extent = time.map { .time($0) } ?? .bursts(bursts)
    if let rate { plan.pace = .rate(burstsPerSecond: rate) }
    return plan
  }
}
