import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryPages
import AccessoryProfiles
import AccessoryRuns
import AccessorySessions
import AccessorySoak
import AccessoryWorlds
import LinuxIO

extension CommandSpec {
  static let scenario = CommandSpec(
    name: "scenario", summary: "list, show and run scenarios that reproduce failures from the field",
    details: """
      list            list the scenarios
      show [SCENARIO] describe a scenario, or all: what happened, how to play it, how an app survives it
      run SCENARIO    play a scenario (a name, or a path) with a built-in example app (--client) in virtual time and
                      compare the app's events with the expected ones; if they differ, print the timeline and the first
                      difference, and exit with code 1

      'easim scenario run' does not involve your own app. To play a scenario against your app, run the accessories with
      'easim run --scenario SCENARIO' and start the app separately, or call playScenario in a test (docs/scenarios.md).

      With --at, the accessories run in another process, such as 'easim run --scenario SCENARIO --on ADDR'; this process
      plays the device and the app, in real time. {index} in ADDR is replaced by the accessory's number; local accessories
      are found by their serial numbers.

      With --all, every built-in scenario is played, and the exit code is 1 if one of them fails. --shard I/N plays part I of
      N of them; docs/scale.md explains how to merge the reports.

      In virtual time, a trace (--trace FILE.html) shows the robust and the naive client side by side, with the packets that
      were lost. With --all, the trace has every scenario, and an HTML report links each scenario to its place in the trace.

      Files written by 'easim soak' have several apps. They run only in virtual time, and are checked by the rules of
      'easim soak'.
      """,
    examples: [
      "easim scenario list", "easim scenario show flicker", "easim scenario run flicker",
      "easim scenario run transport-switch --client naive", "easim scenario run --all --report scenarios.xml",
    ],
    report: ScenarioReport.self, run: runScenario)
}

struct ScenarioOptions: CommandOptions {
  enum Verb: String, CaseIterable { case list, show, run }

  var verb = Verb.list
  var scenario: String?
  var client: String?
  var showsFile = false
  var isRealTime = false
  var playsAll = false
  var place: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(\.verb, .choice), Operand(optional: "SCENARIO", \.scenario, .optional(.text)),
  ]
  static let options: [Option<Self>] = [
    Option(
      "--client", \.client, as: "C", "the example app: RobustClient (default), naive (the one that fails), or a name"),
    Option("--file", \.showsFile, "show the scenario's file instead of its description"),
    Option("--real-time", \.isRealTime, "run in real time, with real authentication"),
    Option("--all", \.playsAll, "with run: run all scenarios in virtual time, and print one line each"),
    .report.described("with --all: write the results: .json, .html or .xml (JUnit)"),
    Option("--at", \.place, as: "ADDR", "use the accessories at ADDR, in real time"),
    .shard.described("with --all: run part I of N"),
    .allowEmpty.described("with --all: exit with 0 even if the part has no scenarios"),
    .fault, .timeout.described("how long to wait for the accessories at --at"), .allowExec, .allowRemote, .anyUser,
    .json, .seed, .transcript, .transcriptBytes, .capture, .trace, .traceLimit,
  ]
  static let rules: [OptionRule] =
    [
      .needs("--timeout", "--at"), .needs("--report", "--all"), .needs("--shard", "--all"),
      .needs("--allow-empty", "--all"),
    ]
    + ["--real-time", "--at", "--transcript", "--file"].map { .exclusive(["--all", $0]) }

  fileprivate var reportedWords: [String] {
    (client.map { ["--client", $0] } ?? []) + shared.faults.flatMap { ["--fault", $0.description] }
      + (shared.seed.map { ["--seed", "\($0)"] } ?? [])
  }

  fileprivate func clientName(for scenario: Scenario) -> String {
    let name = client ?? ScenarioClients.robust.name
    return name == "naive" ? scenario.naiveClient ?? ScenarioClients.robust.name : name
  }

  /// Returns the name of the other client to show in a trace for comparison, or nil if there is none.
  fileprivate func otherName(for scenario: Scenario) -> String? {
    let robust = ScenarioClients.robust.name
    let other = clientName(for: scenario) == robust ? scenario.naiveClient : robust
    return other == clientName(for: scenario) ? nil : other
  }

  fileprivate func type(for scenario: Scenario, named name: String? = nil) throws -> ScenarioClient.Type {
    let wanted = name ?? clientName(for: scenario)
    if let found = ScenarioClients.named(wanted) { return found }
    throw UsageError("--client \(wanted): unknown client\(ScenarioClients.hint(forUnknown: wanted))")
  }
}

private func runScenario(_ options: ScenarioOptions, _ console: Console) throws -> ExitCode {
  let library = ScenarioLibrary(profiles: Profiles.library)
  if let name = options.scenario { try library.find(name) }
  switch (options.verb, options.scenario) {
  case (.list, _): return try list(library, console)
  case (.show, let name):
    let references = name.map { [$0] } ?? library.names
    if options.showsFile {
      for reference in references { try console.show(file: library.text(reference), as: "scenario", reference) }
    } else if console.isJSON {
      for reference in references {
        console.out(["v": 1, "scenario": reference, "text": try library.file(reference).page])
      }
    } else {
      console.out(try references.map { try library.file($0).page }.joined(separator: "\n\n"))
    }
    return .done
  case (.run, nil) where options.playsAll: return try playAll(library, options, console)
  case (.run, .some) where options.playsAll: throw UsageError("--all runs every scenario: omit the name")
  case (.run, let name?): return try play(library.file(name), options, console)
  case (.run, nil):
    throw UsageError("scenario run needs --all, or a scenario: 'easim scenario list' prints the names")
  }
}

extension ScenarioLibrary {
  /// Throws an error with the command that lists the scenarios if there is no such scenario and none with a similar name.
  func find(_ reference: String) throws {
    do { _ = try text(reference) } catch {
      if ProfileLibrary.isPath(reference) || "\(error)".hasSuffix("?") { throw error }
      throw CommandFailure(code: .usage, message: "\(error); 'easim scenario list' prints the names")
    }
  }
}

private func list(_ library: ScenarioLibrary, _ console: Console) throws -> ExitCode {
  let width = library.names.map(\.count).max() ?? 0
  for name in library.names {
    let scenario = try library.scenario(name)
    if console.isJSON {
      console.out([
        "v": 1, "scenario": name, "summary": scenario.about.summary, "reproduces": scenario.about.reproduces,
        "source": scenario.about.source, "seconds": Instant.origin + scenario.length,
      ])
    } else {
      console.out("\(name.padded(to: width))  \(scenario.about.summary)")
    }
  }
  return .done
}

private func play(_ file: ScenarioFile, _ options: ScenarioOptions, _ console: Console) throws -> ExitCode {
  switch file {
  case .scenario(let scenario): try play(scenario, options, console)
  case .plan(let plan): try play(plan, options, console)
  }
}

/// Runs a scenario that has `apps`, such as one written by `easim soak`, in virtual time, and checks the rules that
/// every simulated world must obey.
private func play(_ plan: SoakPlan, _ options: ScenarioOptions, _ console: Console) throws -> ExitCode {
  let unfit = [
    ("--client", options.client != nil), ("--at", options.place != nil), ("--real-time", options.isRealTime),
  ]
  for (option, _) in unfit.filter(\.1) {
    throw UsageError("\(option) is for scenarios with one app and expectations, but this scenario has 'apps'")
  }
  var plan = plan
  plan.seed = options.shared.seed ?? plan.seed
  plan.faults = options.shared.faults.map { CableFault($0) } + plan.faults
  let recorder = try CaptureFile.asked(for: options.shared, console, origin: nil)
  let transcript = try TranscriptFile.asked(for: options.shared, console)
  let outcome = Soak.run(
    plan, event: console.show, line: transcript.map { file in { file.write($0) } }, recorder: recorder)
  for violation in outcome.violations.dropFirst() {
    console.show(
      TimelineEvent(time: violation.time, side: .app, kind: .warning("\(violation.rule): \(violation.text)")))
  }
  let first = outcome.violations.first
  console.result(
    Verdict(reasons: outcome.violations.map { "\($0)" }), first.map { "\($0.rule): \($0.text)" } ?? "all passed",
    at: first?.time ?? .origin + plan.length)
  return first == nil ? .done : .checkFailed
}

private func playAll(_ library: ScenarioLibrary, _ options: ScenarioOptions, _ console: Console) throws -> ExitCode {
  let names = library.names
  let output = try RunOutput<ScenarioReport>(options.shared, dividing: names.count, console)
  var all = ScenarioReport(names, options: options.reportedWords, shard: output.shard, program: Version.program)
  all.allowsEmpty = options.shared.allowsEmpty
  let trace = try CaptureFile.trace(for: options.shared, console, isVirtual: true)
  _ = try CommandRuntime(console)
  let bar = ProgressBar(console)
  let share = output.shard.share(of: names.count)
  for (index, name) in names[share].enumerated() {
    all.stoppedBy = StopSignals.stopper
    if all.stoppedBy != nil { break }
    bar.draw(Double(index) / Double(share.count), "\(index) of \(share.count.counted("scenario")): \(name)")
    let scenario = try library.scenario(name)
    let run = try playQuietly(scenario, options, trace, oneOf: share.count)
    all.add(run)
    if console.isJSON {
      console.show(
        TimelineEvent(time: .origin + run.length, side: .app, kind: .result(passed: run.passed, "\(name): \(run.text)"))
      )
    } else {
      bar.clear()
      console.outJudged(run.line)
    }
  }
  bar.clear()
  output.write(all)
  if all.runs.isEmpty || all.stoppedBy != nil { console.result(all.verdict, all.sentence, at: .origin) }
  console.err("easim: \(all.sentence)")
  return all.verdict.isPassed ? .done : .checkFailed
}

private func playQuietly(
  _ scenario: Scenario, _ options: ScenarioOptions, _ trace: TraceFile?, oneOf count: Int
) throws -> ScenarioReport.Run {
  var lines: [String] = []
  let recorder = trace?.recorder(oneOf: count * 2)
  let (verdict, length) = try playVirtually(scenario, options, recorder: recorder) {
    lines.append(TimelineText.line($0, colors: false))
  }
  if let trace, let recorder { try add(scenario, recorder, verdict, options, to: trace) }
  return ScenarioReport.Run(
    scenario: scenario.name, summary: scenario.about.summary, client: options.clientName(for: scenario),
    passed: verdict.passed, text: verdict.text, length: length - .origin, timeline: lines)
}

private func playVirtually(
  _ scenario: Scenario, _ options: ScenarioOptions, client: String? = nil, recorder: TraceRecorder?,
  _ report: @escaping (TimelineEvent) -> Void = { _ in }
) throws -> (verdict: ScenarioVerdict, time: Instant) {
  var settings = World.Settings()
  settings.faults = options.shared.faults.map { CableFault($0) }
  settings.report = report
  if let recorder {
    let cables = CaptureRecorder(program: "") { _ in }
    recorder.follow(cables)
    for fault in options.shared.faults { recorder.add(fault: fault.description) }
    settings.recorder = cables
    settings.report = { event in
      recorder.add(event)
      report(event)
    }
  }
  return try playVirtually(scenario, settings, options, client: client)
}

/// Adds a scenario that has already run to a trace. The scenario is then run again with the other client, so that the
/// trace shows both runs side by side.
private func add(
  _ scenario: Scenario, _ recorder: TraceRecorder, _ verdict: ScenarioVerdict, _ options: ScenarioOptions,
  to trace: TraceFile
) throws {
  func run(_ recorder: TraceRecorder, _ verdict: ScenarioVerdict, _ client: String) -> TracedRun {
    let kind = client == ScenarioClients.robust.name ? "robust" : "naive"
    return TracedRun(
      recorder, TraceVerdict(verdict.passed ? "passed" : "failed", verdict.text), in: scenario.name,
      named: "\(kind) client, \(client)")
  }
  trace.runs.append(run(recorder, verdict, options.clientName(for: scenario)))
  guard let other = options.otherName(for: scenario) else { return }
  let beside = TraceRecorder(program: "", command: "", time: "virtual", limit: recorder.limit)
  trace.runs.append(run(beside, try playVirtually(scenario, options, client: other, recorder: beside).verdict, other))
}

private func playVirtually(
  _ scenario: Scenario, _ settings: World.Settings, _ options: ScenarioOptions, client: String? = nil
) throws -> (verdict: ScenarioVerdict, time: Instant) {
  let loop = VirtualLoop(seed: options.shared.seed ?? scenario.seed ?? 1)
  let type = try options.type(for: scenario, named: client)
  let player = ScenarioPlayer(scenario, client: type, settings: settings, on: loop)
  player.start()
  // With --all, a scenario that has begun is played to its end.
  _ = try loop.run(until: { player.isOver || !options.playsAll && StopSignals.first != nil })
  if !player.isOver, let stopper = StopSignals.stopper {
    player.tearDown()
    throw CommandFailure(code: .checkFailed, message: "stopped by \(stopper) before the scenario ended")
  }
  let time = loop.now
  let verdict = player.verdict
  player.tearDown()
  try loop.advance(by: .milliseconds(100))
  return (verdict, time)
}

private func play(_ scenario: Scenario, _ options: ScenarioOptions, _ console: Console) throws -> ExitCode {
  let type = try options.type(for: scenario)
  if let place = options.place {
    return try ScenarioAtAddress(scenario, client: type, at: place, options.shared, console).play()
  }
  var settings = try World.Settings(options.shared, isVirtual: !options.isRealTime, console)
  settings.faults = options.shared.faults.map { CableFault($0) }
  guard options.isRealTime else {
    try StopSignals.take()
    let (verdict, time) = try playVirtually(scenario, settings, options)
    if let trace = console.trace, options.otherName(for: scenario) != nil {
      try add(scenario, trace.recorder, verdict, options, to: trace)
    }
    return verdict.printResult(console, at: time)
  }
  settings.authentication = .real
  var scenario = scenario
  try scenario.admitPrograms(options.shared, console)
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  let player = ScenarioPlayer(scenario, client: type, settings: settings, on: runtime.loop)
  player.start()
  _ = runtime.run(until: { player.isOver })
  if let code = runtime.stopped(console, " before the scenario ended") { return code }
  let verdict = player.verdict
  player.tearDown()
  runtime.settle(until: { player.world.device.cableCount == 0 })
  return verdict.printResult(console, at: runtime.loop.now)
}

extension ScenarioVerdict {
  func printResult(_ console: Console, at time: Instant) -> ExitCode {
    console.show(TimelineEvent(time: time, side: .app, kind: .result(passed: passed, text)))
    return passed ? .done : .checkFailed
  }
}

/// Runs a scenario whose accessories are at an address: `easim scenario run NAME --at ADDR` simulates the device and
/// the app.
final class ScenarioAtAddress {
  private let scenario: Scenario
  private let addresses: [Address]
  private let console: Console
  private let runtime: CommandRuntime
  private let side: ScenarioDevice
  private let options: CableOptions
  private let timeout: Duration
  private var hasDialerForAll = false

  init(
    _ scenario: Scenario, client: ScenarioClient.Type, at pattern: String, _ shared: SharedOptions,
    _ console: Console
  ) throws {
    self.scenario = scenario
    self.console = console
    addresses = try ScenarioAddresses.addresses(pattern, for: scenario, option: "--at")
    timeout = shared.timeout
    runtime = try CommandRuntime(console, seed: shared.seed)
    options = CableOptions(shared, on: runtime.loop, report: console.show)
    side = ScenarioDevice(scenario, client: client, on: runtime.loop, report: console.show)
  }

  func play() throws -> ExitCode {
    do {
      try side.start { [unowned self] device, place in try dialer(for: device, place) }
      try options.openFiles(console)
    } catch {
      side.tearDown()
      throw error
    }
    runtime.tellOfWait(at: addresses[0], atMost: timeout, console) { [side] in (!side.hasBegun, side.trouble) }
    guard runtime.run(until: { side.hasBegun }, limit: timeout) else { return giveUp() }
    let ended = runtime.run(until: { side.isOver })
    let verdict = ScenarioVerdict(side.comparison, side.client)
    side.tearDown()
    runtime.settle(until: { side.device.cableCount == 0 && options.isQuiet })
    if !ended, let code = runtime.stopped(console, " before the scenario ended") { return code }
    return verdict.printResult(console, at: runtime.loop.now)
  }

  private func giveUp() -> ExitCode {
    side.tearDown()
    if let code = runtime.stopped(console, " before there was an accessory") { return code }
    return console.end(.unreachable, "\(addresses[0].explanation(of: side.trouble, within: timeout))")
  }

  private func dialer(for device: Device, _ place: Int) throws -> Dialer? {
    let address = addresses[place]
    guard try media[address].knowsSerialNumbers else {
      return try media.makeDialer(
        to: address, for: device, on: runtime.loop, options: options.transport, wanted: .one
      ) { [unowned self] in wrap($0, accessory: place) }
    }
    // The dialer for the first accessory also finds all the others.
    if hasDialerForAll { return nil }
    hasDialerForAll = true
    let serials = scenario.accessories.map(\.profile.identity.serialNumber)
    return try media.makeDialer(
      to: address, for: device, on: runtime.loop, options: options.transport,
      wanted: .every { address.namesOneAccessory || serials.contains($0.identity) }
    ) { [unowned self] in wrap($0, accessory: nil) }
  }

  private func wrap(_ cable: Cable, accessory: Int?) -> Cable {
    options.wrap(
      side.wrap(cable, accessory: accessory), at: .device, place: addresses[accessory ?? 0].description,
      accessory: accessory.map { scenario.accessories[$0].profile.identity.name } ?? "")
  }
}

/// The addresses of a scenario's accessories. The accessories either share a local directory, or each have their own
/// address.
enum ScenarioAddresses {
  static func addresses(
    _ pattern: String, for scenario: Scenario, option: String
  ) throws -> [Address] {
    let count = scenario.accessories.count
    let addresses = try (1...count).map { try Address(typed: pattern.replacing("{index}", with: "\($0)")) }
    if try media[addresses[0]].knowsSerialNumbers { return addresses }
    try check(addresses[0], for: scenario, option: "\(option) \(pattern)")
    if count > 1, !pattern.contains("{index}") {
      throw UsageError(
        "\(option) \(pattern) is one address, but the scenario has \(count) accessories: put {index} into the address, "
          + "where the accessory's number replaces it")
    }
    return addresses
  }

  /// Rejects scenarios that unplug a USB cable without notifying the device, because a USB host always notices.
  static func check(
    _ address: Address, for scenario: Scenario, option: String
  ) throws {
    guard try media[address].noticesPulledCables else { return }
    for case .pull(_, unnoticed: true) in scenario.steps.map(\.action) {
      throw UsageError(
        "\(option) cannot play \(scenario.name): a cable is pulled without the device noticing, but on USB the device "
          + "always notices; use unix:PATH, tcp:HOST:PORT or local:")
    }
  }
}
