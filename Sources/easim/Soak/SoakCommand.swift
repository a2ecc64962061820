import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryRuns
import AccessorySessions
import AccessorySoak
import Glibc
import LinuxIO

extension CommandSpec {
  static let soak = CommandSpec(
    name: "soak",
    summary: "run random worlds in virtual time, check every rule, shrink failures",
    details: """
      Each seed gives a random world: accessories, apps with sessions, faults on the cables, and steps. easim plays it in
      virtual time and checks the rules after every step, among them: every byte arrives once and in order, or the session
      ends with a reason; each connect is followed by a disconnect; no connection ID is used twice; no window is exceeded.
      docs/scale.md lists all rules. With PROFILE, all accessories have that profile.

      If a world breaks a rule, easim shrinks it to a smaller one that still breaks the rule, and prints that world as a
      scenario (for 'easim scenario run FILE') with the command that repeats its seed. The same seeds give the same worlds on
      any machine and with any number of jobs.

      The exit code is 1 if a rule was broken, if the run was stopped before its end, if there was no world to play (in a
      shard of few worlds; --allow-empty makes that 0), or if 5,000 or more random worlds did not reach each of the following
      cases. --forbid CASE makes one of them a failure:

      \(SoakCoverage.Corner.allCases.map { "  \($0.word): \($0.name)" }.joined(separator: "\n"))

      --shard I/N plays part I of N of the worlds. By default, the job's environment selects the part: JOB_COMPLETION_INDEX
      with EASIM_SHARDS, CI_NODE_INDEX with CI_NODE_TOTAL, or SLURM_ARRAY_TASK_ID; --shard 1/1 plays all. 'easim report
      merge' combines the .json reports of all parts into the report that a single run would write, byte for byte.

      Ctrl-C ends the run and still prints the result; a second Ctrl-C also ends the shrinking. A stopped run does not
      pass.
      """,
    examples: [
      "easim soak --seeds 200", "easim soak lawk-view --seeds 50 --seed 1000",
      "easim soak --seed 23 --seeds 1 --transcript -",
      "easim soak --seeds 100 --forbid giveUp --save /tmp/given-up",
      "easim soak --seeds 1000 --shard 3/8 --report /tmp/soak-3.json",
    ],
    report: SoakReport.self, run: { (options: SoakOptions, console) in try SoakSession(options, console).run() })
}

struct SoakOptions: CommandOptions {
  var profile: String?
  var count: UInt64 = 10_000
  var time: Duration?
  var first: UInt64 = 0
  var jobs: Int?
  var forbidden: [SoakCoverage.Corner] = []
  var folder: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(optional: "PROFILE", \.profile, .optional(.text))]
  static let options: [Option<Self>] = [
    Option("--seeds", \.count, .integer(1...1_000_000_000_000), "number of worlds"),
    Option("--for", \.time, .optional(.someTime), "run for TIME instead of a number of worlds"),
    Option("--seed", \.first, .integer(0...UInt64(Int.max)), as: "FIRST", "the first seed"),
    Option(
      "--jobs", \.jobs, .optional(.integer(1...1_024)), "number of worlds run in parallel",
      standard: "one per processor"),
    Option(
      each: "--forbid", \.forbidden, .words(SoakCoverage.Corner.allCases.map { ($0.word, $0) }), as: "WHAT",
      "fail if WHAT happens (a word from the list above)"),
    Option(
      "--save", \.folder, as: "DIR",
      "write failures to DIR as soak-SEED.json5, and their captures as soak-SEED.pcapng"),
    .report.described("write the result: .json, .html, or .xml (JUnit, one case per rule)"),
    .shard.described("run part I of N of the worlds"), .allowEmpty,
    .transcript.described("with --seeds 1: write everything that happens"),
    .capture.described("with --seeds 1: record every byte as pcapng for Wireshark"),
    .trace.described("write the first failed world to FILE as one HTML page; with --seeds 1, the only world"),
    .traceLimit, .json,
  ]
  static let rules: [OptionRule] = [
    .exclusive(["--seeds", "--for"]), .exclusive(["--shard", "--transcript"]), .exclusive(["--shard", "--capture"]),
    .exclusive(["--shard", "--for"], because: "to divide the worlds, their number must be known: add --seeds"),
  ]
}

/// A run of `easim soak`, which runs simulated worlds, shows progress, shrinks failures and prints a report.
///
/// ```
///   playing ──through, time over, Ctrl-C──▶ shrinking ──all shrunk, Ctrl-C──▶ reported
/// ```
final class SoakSession {
  /// How often to check whether shrinking should stop.
  private static let turn = Duration.milliseconds(50)
  /// How long the current attempts may continue after a second Ctrl-C has stopped the shrinking.
  private static let shrinkingTime = Duration.seconds(10)

  private let options: SoakOptions
  private let recipe: SoakRecipe
  /// How many worlds the whole run has, or nil if the run has a time limit instead.
  private let total: Int?
  /// How many worlds this shard has, or nil if the run has a time limit instead.
  private let count: Int?
  private let jobs: Int
  private let output: RunOutput<SoakReport>
  private let console: Console
  private let runtime: CommandRuntime
  private let crew: SoakCrew

  init(_ options: SoakOptions, _ console: Console) throws {
    self.options = options
    self.console = console
    var recipe = SoakRecipe()
    if let reference = options.profile {
      recipe.profile = (reference, try Profiles.library.template(reference))
    }
    recipe.forbidden = options.forbidden
    self.recipe = recipe
    total = options.time == nil ? Int(options.count) : nil
    output = try RunOutput(options.shared, dividing: total ?? .max, console)
    if options.time != nil, !output.shard.isWhole {
      throw UsageError(
        "--for cannot be divided, because the number of worlds is not known: use --seeds, or --shard 1/1")
    }
    jobs = options.jobs ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    for (option, path) in [("--transcript", options.shared.transcript), ("--capture", options.shared.capture)]
    where path != nil && total != 1 {
      throw UsageError("\(option) shows one world only: add --seeds 1")
    }
    var shared = options.shared
    shared.seed = options.first
    if total != 1, let trace = try CaptureFile.trace(for: shared, console, isVirtual: true) {
      trace.isWanted = false
      // The trace shows one failed world instead of the whole run.
      shared.trace = nil
    }
    let recorder = try CaptureFile.asked(for: shared, console, origin: nil)
    let transcript = try TranscriptFile.asked(for: options.shared, console)
    // The folder is created before the run, so that an error is reported immediately instead of after hours.
    if let folder = options.folder { try PatientFile.makeFolder(folder, named: "--save \(folder)") }
    // The transcript is written before the loop runs, because writing blocks if nothing is reading the transcript.
    if transcript != nil || recorder != nil { Self.show(recipe.plan(options.first), in: transcript, recorder, console) }
    runtime = try CommandRuntime(console, secondInterrupt: Self.shrinkingTime)
    let shard = output.shard
    let share = total.map { shard.share(of: $0) }
    count = share?.count
    crew = SoakCrew(
      recipe, from: options.first + UInt64(share?.lowerBound ?? 0), count: share.map { UInt64($0.count) }, jobs: jobs)
  }

  func run() -> ExitCode {
    let begin = runtime.loop.now
    let busyBefore = clock()
    let crew = crew
    Task { await crew.play() }
    let progress = RunProgress(
      console, on: runtime.loop, show: { [unowned self] _ in shown(since: begin) },
      line: { [unowned self] _ in line(since: begin) })
    _ = runtime.run(until: { crew.isOver }, limit: options.time)
    crew.stop()
    // Lets each job finish the world that it is running.
    runtime.loop.run(until: { crew.isOver }, limit: .seconds(3_600))
    progress.stop()
    let seconds = max((runtime.loop.now - begin).inSeconds, 0.001)
    let busy = max(Double(clock() - busyBefore) / Double(CLOCKS_PER_SEC), 0.001)
    var report = crew.report
    report.add(shrink(report.failures))
    report.complete(
      first: options.first, seeds: total, shard: output.shard, stoppedBy: StopSignals.stopper, program: Version.program)
    (report.allowsEmpty, report.took) = (options.shared.allowsEmpty, .seconds(seconds))
    return conclude(report, seconds: seconds, busy: busy)
  }

  private static func show(
    _ plan: SoakPlan, in transcript: TranscriptFile?, _ recorder: CaptureRecorder?, _ console: Console
  ) {
    transcript?.write("seed \(plan.seed): \(plan.size)")
    transcript?.write(plan.fileText(description: "the world of seed \(plan.seed)"))
    let outcome = Soak.run(
      plan,
      event: {
        transcript?.write("\($0.time.secondsText) * \($0.json)")
        console.witness($0)
      }, line: transcript.map { file in { file.write($0) } }, recorder: recorder)
    for violation in outcome.violations {
      transcript?.write("broken \(violation)")
      recorder?.note("broken \(violation)", at: violation.time)
    }
    transcript?.write("hash \(outcome.hash)")
  }

  // MARK: Progress

  private func fraction(of count: Int, after elapsed: Double) -> Double {
    self.count.map { Double(count) / Double(max($0, 1)) } ?? elapsed / (options.time?.inSeconds ?? 1)
  }

  private func shown(since begin: Instant) -> (Double, String) {
    let (count, failures) = crew.progress
    let elapsed = max((runtime.loop.now - begin).inSeconds, 0.001)
    let fraction = fraction(of: count, after: elapsed)
    let left = fraction > 0.01 ? "  \(Int((elapsed / fraction - elapsed).rounded(.up))) s left" : ""
    return (fraction, "\(count) worlds  \(Int(Double(count) / elapsed)) a second  \(failures) failures\(left)")
  }

  private func line(since begin: Instant) -> JSONObject {
    let (count, failures) = crew.progress
    return JSONObject(
      event: "progress", at: runtime.loop.now,
      [
        "worlds": count, "failures": failures,
        "fraction": min(fraction(of: count, after: max((runtime.loop.now - begin).inSeconds, 0.001)), 1),
      ])
  }

  private func shrink(_ failures: [SoakReport.Failure]) -> [UInt64: SoakReport.Shrunk] {
    if failures.isEmpty { return [:] }
    if !console.isJSON { console.err("easim: shrinking \(failures.count.counted("failing world"))") }
    let shrinking = SoakShrinking(recipe, failures, jobs: jobs)
    Task { await shrinking.run() }
    // A Ctrl-C that stopped the worlds does not also stop the shrinking.
    let before = StopSignals.count
    let bar = ProgressBar(console)
    defer { bar.clear() }
    let finished = {
      if StopSignals.count > before { shrinking.stop() }
      return shrinking.isOver
    }
    while !finished() {
      runtime.loop.run(until: finished, limit: Self.turn)
      let (done, all, tries) = shrinking.progress
      let fraction = Double(done) / Double(max(all, 1))
      if !console.isJSON { bar.draw(fraction, "\(done) of \(all) shrunk, \(tries) attempts") }
    }
    return shrinking.shrunk
  }

  /// Prints and writes the result. `busy` is the processor time that was used, which depends less on the machine's load
  /// than elapsed time does.
  private func conclude(_ report: SoakReport, seconds: Double, busy: Double) -> ExitCode {
    if !console.isJSON { console.out("\(report.coverage)") }
    for failure in report.failures {
      if let shrunk = failure.shrunk {
        printResult(report, failure, shrunk)
      } else if !console.isJSON {
        console.outJudged(report.line(of: failure))
      }
    }
    if !console.isJSON { for line in report.beyond { console.out(line) } }
    console.outJudged(console.isJSON ? json(report, seconds, busy).text : "\(report.headline); hash \(report.hash)")
    // The rate is printed to stderr, because it differs from run to run.
    let rate = { (seconds: Double) in Int(Double(report.worlds) / seconds) }
    console.err(
      "easim: \(rate(seconds)) worlds per second with \(jobs) jobs, \(rate(busy)) per CPU second")
    output.write(report)
    if let failure = report.failures.first { record(failure) }
    return report.verdict.isPassed ? .done : .checkFailed
  }

  // MARK: Failures

  private func printResult(_ report: SoakReport, _ failure: SoakReport.Failure, _ shrunk: SoakReport.Shrunk) {
    let path = save(failure.seed, shrunk)
    if console.isJSON { return console.out(json(failure, shrunk, path).text) }
    console.outJudged(report.line(of: failure))
    console.out("  shrunk: \(shrunk.before) to \(shrunk.after), in \(shrunk.worlds) worlds")
    if let path {
      console.out("  saved:  easim scenario run \(path.shellWord)")
    } else {
      console.out("  as a scenario, for 'easim scenario run FILE.json5':\n\n\(shrunk.scenario)")
    }
  }

  private func save(_ seed: UInt64, _ shrunk: SoakReport.Shrunk) -> String? {
    guard let folder = options.folder else { return nil }
    let path = "\(folder)/soak-\(seed).json5"
    guard write(Array(shrunk.scenario.utf8), to: path) else { return nil }
    saveCapture(of: seed, in: folder)
    return path
  }

  private func write(_ bytes: [UInt8], to path: String) -> Bool {
    do {
      guard let reason = PatientFile.write(bytes, to: try WholeFile(path)) else { return true }
      console.lose(path, reason)
    } catch { console.err("easim: \(path): \(error.reason)") }
    return false
  }

  private func saveCapture(of seed: UInt64, in folder: String) {
    var bytes: [UInt8] = []
    let recorder = CaptureRecorder(
      program: "easim \(Version.current)", comment: "easim capture seed=\(seed)"
    ) { bytes += $0 }
    let outcome = Soak.run(
      recipe.plan(seed), event: { recorder.note(CaptureFile.comment(on: $0), at: $0.time) }, recorder: recorder)
    for violation in outcome.violations { recorder.note("broken \(violation)", at: violation.time) }
    _ = write(bytes, to: "\(folder)/soak-\(seed).pcapng")
  }

  /// Writes the trace of a failure if the user requested one and none has been written yet.
  private func record(_ failure: SoakReport.Failure) {
    guard let trace = console.trace, !trace.isWanted else { return }
    trace.isWanted = true
    let recorder = CaptureRecorder(program: "") { _ in }
    trace.recorder.follow(recorder)
    _ = Soak.run(recipe.plan(failure.seed), event: { trace.recorder.add($0) }, recorder: recorder)
    trace.conclude("failed", "seed \(failure.seed): \(failure.violations.map { "\($0)" }.joined(separator: "; "))")
  }

  private func json(_ failure: SoakReport.Failure, _ shrunk: SoakReport.Shrunk, _ path: String?) -> JSONObject {
    // Every shrunk world still breaks the rule that was broken first.
    let first = failure.violations.first
    return JSONObject(
      event: "failure", at: runtime.loop.now,
      [
        "seed": Int(clamping: failure.seed), "rule": first?.rule.description ?? "", "text": first?.description ?? "",
        "command": recipe.command(replaying: failure.seed), "size": shrunk.before, "shrunkSize": shrunk.after,
        "file": path, "scenario": shrunk.scenario,
      ])
  }

  private func json(_ report: SoakReport, _ seconds: Double, _ busy: Double) -> JSONObject {
    var (coverage, faults) = (JSONObject(), JSONObject())
    for corner in SoakCoverage.Corner.allCases { coverage.add(corner.word, report.coverage[corner]) }
    for fault in Fault.format.names { faults.add(fault, report.coverage[fault: fault]) }
    return JSONObject(
      event: "result", at: runtime.loop.now,
      [
        "passed": report.verdict.isPassed, "verdict": report.verdict.word, "text": report.headline,
        "seeds": total, "shard": output.shard.isWhole ? nil : "\(output.shard)",
        "worlds": report.worlds, "failures": report.failureCount, "perSecond": Int(Double(report.worlds) / seconds),
        "perProcessorSecond": Int(Double(report.worlds) / busy), "hash": "\(report.hash)",
        "coverage": coverage, "faults": faults,
      ])
  }
}
