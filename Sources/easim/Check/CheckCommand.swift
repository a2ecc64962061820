import AccessoryCheck
import AccessoryCore
import AccessoryFormats
import AccessoryRuns
import AccessorySessions
import Certificates
import Glibc

extension CommandSpec {
  static let check = CommandSpec(
    name: "check", summary: "check an accessory against the rules of iAP2 and print what to change",
    details: """
      Connect to the accessory at ADDR (default: the only local one) repeatedly, as an Apple device would, and run numbered
      cases: detection, SYN, packets, loss, authentication, identification, sessions, data, unplugging. A failed case shows
      the packets that prove the failure and what to change in the firmware; a skipped case shows the reason. docs/check.md
      lists all cases and the source of each rule. A broken rule is an error, a warning (some devices or lines are affected)
      or a note. Only errors fail the check, unless you pass --strict.

      --cases FILE.py adds your own cases, written with the Python package: functions marked with @check.case("1", "answers
      VERSION") that send and receive in a session (docs/check.md). In --baseline FILE, {firmware} stands for the accessory's
      firmware version.

      Without --hostile, easim does only what an Apple device could do. Cases about data need an accessory that sends back
      what it receives.

      --shard I/N runs part I of N of the cases, for example with one unit of the firmware on each machine;
      'easim report merge' merges the .json reports (docs/scale.md).

      Exit codes: 0 at least one case passed, and no case failed; 1 a case failed, the run was stopped, or nothing was
      compared (--allow-empty makes that 0); 2 usage error; 3 no accessory found; 5 the accessory did not come back. Ctrl-C
      ends the run and prints the results so far.
      """,
    examples: [
      "easim check --list", "easim check unix:/tmp/echo-1.sock --only 201-211 --report /tmp/check.html",
      "easim check unix:/tmp/echo-1.sock --only certificate,signature --report /tmp/check.json",
    ],
    report: CheckReport.self, run: runCheck)
}

private func runCheck(_ options: CheckOptions, _ console: Console) throws -> ExitCode {
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  let own = try options.ownCases.map { try readCases($0, on: runtime, console) }
  defer { own?.close() }
  var cases = CheckCase.all + (own?.cases ?? [])
  if let text = options.selection {
    do throws(OptionError) { cases = try CheckCase.selected(by: text, own: own?.cases ?? []) } catch {
      throw UsageError("--only: \(error)")
    }
  }
  if options.lists {
    for rule in cases { console.out(console.isJSON ? rule.json.text : rule.line) }
    return .done
  }
  let output = try RunOutput<CheckReport>(options.shared, dividing: cases.count, console)
  if !output.shard.isWhole, options.isHostile, options.attacks > 0, options.shared.seed == nil {
    throw UsageError("the shards of --hostile need the same seed: add --seed N")
  }
  return try CheckSession(options, cases, output, runtime, console).run()
}

private func readCases(_ file: String, on runtime: CommandRuntime, _ console: Console) throws -> OwnCases {
  let python = getenv("EASIM_PYTHON").map { String(cString: $0) } ?? "python3"
  do {
    return try OwnCases(file, python: python, on: runtime.loop) { console.err("python: \($0)") }
  } catch let mistake as OptionError {
    throw UsageError("--cases: \(mistake)")
  }
}

struct CheckOptions: CommandOptions {
  var address = Address.standardLocal
  var selection: String?
  var ownCases: String?
  var isForFeatures = false
  var lists = false
  var stepLimit = Duration.seconds(20)
  var pace = Duration.milliseconds(200)
  var echo = CheckSettings.Echo.tried
  var isHostile = false
  var isStrict = false
  var attacks = 200
  var most = 5
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.address(\.address)]
  static let options: [Option<Self>] = [
    Option("--only", \.selection, as: "N,N-M,NAME", "run these cases: 101, 300-399, syn-version"),
    Option("--cases", \.ownCases, as: "FILE", "add your own cases from a Python file; --only own runs only your cases"),
    Option("--features", \.isForFeatures, "omit cases about features that the accessory does not declare"),
    Option("--list", \.lists, "list the cases without connecting"),
    Option("--echo", \.echo, .choice, "whether sessions echo what they receive; try finds out"),
    Option("--pace", \.pace, .duration, "how long to wait before plugging in again"),
    Option("--timeout", \.stepLimit, .someTime, "time limit for each of the accessory's steps"),
    Option("--strict", \.isStrict, "also fail on warnings and notes"), .order,
    Option("--hostile", \.isHostile, "add cases and attacks that no Apple device would make"),
    Option("--attacks", \.attacks, .integer(0...1_000_000), "number of hostile attacks"),
    Option("--most-failures", \.most, .integer(1...1_000), "stop after N attacks that the accessory did not survive"),
    .report.described("write the report: .html, .json or .xml (JUnit)"),
    .baseline.described("print what changed since this JSON report; fail only on cases that did not fail in it"),
    .shard.described("run part I of N of the cases and attacks"), .allowEmpty,
    .protocolName, .fault, .seed, .allowRemote, .anyUser, .json, .transcript, .transcriptBytes, .capture, .trace,
    .traceLimit,
  ]
  static let rules: [OptionRule] = [
    .needs("--attacks", "--hostile"), .needs("--most-failures", "--hostile"), .exclusive(["--shard", "--list"]),
    .exclusive(["--shard", "--features"], because: "units of the accessory may declare different features"),
    .exclusive(["--shard", "--baseline"], because: "'easim report show' compares the merged report"),
  ]
}

final class CheckSession {
  private let options: CheckOptions
  private let cases: [CheckCase]
  private let planned: [CheckCase]
  private var output: RunOutput<CheckReport>
  private let console: Console
  private let runtime: CommandRuntime
  private let cables: CableOptions
  private let bar: ProgressBar

  init(
    _ options: CheckOptions, _ cases: [CheckCase], _ output: RunOutput<CheckReport>, _ runtime: CommandRuntime,
    _ console: Console
  ) {
    (self.options, self.output) = (options, output)
    planned = cases
    self.cases = Array(cases[output.shard.share(of: cases.count)])
    self.console = console
    self.runtime = runtime
    cables = CableOptions(options.shared, on: runtime.loop, report: console.show)
    bar = ProgressBar(console)
  }

  func run() throws -> ExitCode {
    var settings = CheckSettings(verifier: AccessoryVerifier())
    settings.stepLimit = options.stepLimit
    settings.pace = options.pace
    settings.protocolName = options.shared.protocolName
    settings.echo = options.echo
    settings.isHostile = options.isHostile
    settings.isStrict = options.isStrict
    settings.leavesOutUndeclared = options.isForFeatures
    settings.order = options.shared.order ?? .auto
    let chosen = try AccessoryChoice.identity(at: options.address, options.shared.protocolName, on: runtime, console)
    let plug = try AddressPlug(
      options.address, media, on: runtime.loop, options: cables.transport,
      where: { accessory in chosen.map { $0 == accessory.identity } ?? true },
      wrap: { [cables, options] in cables.wrap($0, at: .device, place: options.address.description) })
    try cables.openFiles(console)
    runtime.tellOfWait(at: options.address, atMost: options.stepLimit, console) { (plug.isSearching, plug.trouble) }
    console.trace?.recorder.readsLinks = true
    let checker = Checker(plug, CheckPump(runtime.loop) { StopSignals.first != nil }, settings)
    var report: CheckReport
    do { report = try checker.run(cases) { handle($0) } } catch let absent as AccessoryAbsent {
      bar.clear()
      console.err("easim: \(absent)")
      settle()
      return .unreachable
    }
    if options.isHostile, options.attacks > 0, report.ending == .complete {
      let seed = options.shared.seed ?? UInt64.random(in: 0...UInt64(Int.max))
      let share = output.shard.share(of: options.attacks)
      report.hostile = try checker.attack(
        seed: seed &+ UInt64(share.lowerBound), attacks: share.count, most: options.most
      ) { done, all in
        bar.draw(Double(done) / Double(all), "\(done) of \(all) hostile attacks")
      }
    }
    if let stopper = StopSignals.stopper { report.ending = .stopped(by: stopper) }
    report.allowsEmpty = options.shared.allowsEmpty
    (report.program, report.shards) = (Version.program, ShardSet(output.shard))
    report.planned = planned.filter { !checker.leftOut.contains($0) }.map(\.number)
    bar.clear()
    settle()
    if !checker.leftOut.isEmpty {
      console.err(
        "easim: omitted cases about features that the accessory does not declare: "
          + checker.leftOut.map(\.title).joined(separator: ", "))
    }
    return try conclude(report)
  }

  private func settle() { runtime.settle(until: { cables.isQuiet }) }

  private var judged = 0

  private func handle(_ result: CheckResult) {
    judged += 1
    console.witness(TimelineEvent(time: runtime.loop.now, side: .app, kind: .note(result.text)))
    bar.clear()
    let line = { JSONObject(event: "case", at: self.runtime.loop.now, side: .app, ["case": result.json]).text }
    console.outJudged(console.isJSON ? line() : result.text)
    bar.draw(Double(judged) / Double(cases.count), "\(judged) of \(cases.count) cases")
  }

  private func conclude(_ report: CheckReport) throws -> ExitCode {
    var report = report
    try output.readBaseline(for: report)
    output.compare(&report)
    output.write(report)
    let verdict = report.outcome
    output.show(report, verdict, report.summary, text: report.endOfList, at: runtime.loop.now)
    if case .gone(let reason) = report.ending {
      console.err("easim: the accessory did not come back: \(reason)")
      // The loss of the accessory determines the exit code only if nothing else failed.
      if verdict.reasons.count == 1 { return .gone }
    }
    return verdict.isPassed ? .done : .checkFailed
  }
}
