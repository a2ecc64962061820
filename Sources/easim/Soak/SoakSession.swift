import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessorySessions
import AccessorySoak
import Glibc

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

  private let options: SoakRun
  private let console: Console
  private let runtime: CommandRuntime
  private let crew: SoakCrew

  init(_ options: SoakRun, _ console: Console) throws {
    self.options = options
    self.console = console
    // The transcript is written before the loop runs, because writing blocks if nothing is reading the transcript.
    if options.transcript != nil || options.recorder != nil {
      Self.show(options.recipe.plan(options.first), in: options.transcript, options.recorder, console)
    }
    runtime = try CommandRuntime(console, secondInterrupt: Self.shrinkingTime)
    crew = SoakCrew(options.recipe, from: options.from, count: options.count, jobs: options.jobs)
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
      first: options.first, seeds: options.total, shard: options.output.shard,
      stoppedBy: runtime.stopper, program: Version.program)
    (report.allowsEmpty, report.took) = (options.allowsEmpty, .seconds(seconds))
    return SoakVerdict(report: report, options: options, seconds: seconds, busy: busy).printResult(
      console, at: runtime.loop.now)
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
    options.count.map { Double(count) / Double(max($0, 1)) } ?? elapsed / (options.time?.inSeconds ?? 1)
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

  // MARK: Shrinking

  private func shrink(_ failures: [SoakReport.Failure]) -> [UInt64: SoakReport.Shrunk] {
    if failures.isEmpty { return [:] }
    if !console.isJSON { console.err("easim: shrinking \(failures.count.counted("failing world"))") }
    let shrinking = SoakShrinking(options.recipe, failures, jobs: options.jobs)
    Task { await shrinking.run() }
    // A Ctrl-C that stopped the worlds does not also stop the shrinking.
    let before = runtime.signalCount
    let bar = ProgressBar(console)
    defer { bar.clear() }
    let finished = { [runtime] in
      if runtime.signalCount > before { shrinking.stop() }
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
}
