import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessorySessions
import AccessorySoak
import LinuxIO

struct SoakVerdict {
  let report: SoakReport
  let options: SoakRun
  let seconds: Double
  /// The processor time that was used. Processor time depends less on the machine's load than elapsed time does.
  let busy: Double

  func printResult(_ console: Console, at now: Instant) -> ExitCode {
    if !console.isJSON { console.out("\(report.coverage)") }
    for failure in report.failures {
      if let shrunk = failure.shrunk {
        printResult(failure, shrunk, console, at: now)
      } else if !console.isJSON {
        console.outJudged(report.line(of: failure))
      }
    }
    if !console.isJSON { for line in report.beyond { console.out(line) } }
    console.outJudged(console.isJSON ? json(at: now).text : "\(report.headline); hash \(report.hash)")
    // The rate is printed to stderr, because it differs from run to run.
    let rate = { (seconds: Double) in Int(Double(report.worlds) / seconds) }
    console.err(
      "easim: \(rate(seconds)) worlds per second with \(options.jobs) jobs, \(rate(busy)) per CPU second")
    options.output.write(report)
    if let failure = report.failures.first { record(failure, console) }
    return report.verdict.isPassed ? .done : .checkFailed
  }

  // MARK: Failures

  private func printResult(
    _ failure: SoakReport.Failure, _ shrunk: SoakReport.Shrunk, _ console: Console, at now: Instant
  ) {
    let path = save(failure.seed, shrunk, console)
    if console.isJSON { return console.out(json(failure, shrunk, path, at: now).text) }
    console.outJudged(report.line(of: failure))
    console.out("  shrunk: \(shrunk.before) to \(shrunk.after), in \(shrunk.worlds) worlds")
    if let path {
      console.out("  saved:  easim scenario run \(path.shellWord)")
    } else {
      console.out("  as a scenario, for 'easim scenario run FILE.json5':\n\n\(shrunk.scenario)")
    }
  }

  /// Writes a failure to a file if the user gave `--save`.
  private func save(_ seed: UInt64, _ shrunk: SoakReport.Shrunk, _ console: Console) -> String? {
    guard let folder = options.folder else { return nil }
    let path = "\(folder)/soak-\(seed).json5"
    let file: WholeFile
    do { file = try WholeFile(path) } catch {
      console.err("easim: \(path): \(error.reason)")
      return nil
    }
    if let reason = PatientFile.write(Array(shrunk.scenario.utf8), to: file) {
      console.lose(path, reason)
      return nil
    }
    saveCapture(of: seed, in: folder, console)
    return path
  }

  /// Runs a failed world again from its seed, in order to record it.
  private func saveCapture(of seed: UInt64, in folder: String, _ console: Console) {
    let path = "\(folder)/soak-\(seed).pcapng"
    var bytes: [UInt8] = []
    let recorder = CaptureRecorder(
      program: "easim \(Version.current)", comment: "easim capture seed=\(seed)"
    ) { bytes += $0 }
    let outcome = Soak.run(
      options.recipe.plan(seed), event: { recorder.note(CaptureFile.comment(on: $0), at: $0.time) }, recorder: recorder)
    for violation in outcome.violations { recorder.note("broken \(violation)", at: violation.time) }
    do {
      if let reason = PatientFile.write(bytes, to: try WholeFile(path)) { console.lose(path, reason) }
    } catch { console.err("easim: \(path): \(error.reason)") }
  }

  /// Writes the trace of a failure if the user requested one and none has been written yet.
  private func record(_ failure: SoakReport.Failure, _ console: Console) {
    guard let trace = console.trace, !trace.isWanted else { return }
    trace.isWanted = true
    let recorder = CaptureRecorder(program: "") { _ in }
    trace.recorder.follow(recorder)
    _ = Soak.run(options.recipe.plan(failure.seed), event: { trace.recorder.add($0) }, recorder: recorder)
    trace.conclude("failed", "seed \(failure.seed): \(failure.violations.map { "\($0)" }.joined(separator: "; "))")
  }

  // MARK: JSON

  private func json(
    _ failure: SoakReport.Failure, _ shrunk: SoakReport.Shrunk, _ path: String?, at now: Instant
  ) -> JSONObject {
    // Every shrunk world still breaks the rule that was broken first.
    let first = failure.violations.first
    return JSONObject(
      event: "failure", at: now,
      [
        "seed": Int(clamping: failure.seed), "rule": first?.rule.description ?? "", "text": first?.description ?? "",
        "command": options.recipe.command(replaying: failure.seed), "size": shrunk.before, "shrunkSize": shrunk.after,
        "file": path, "scenario": shrunk.scenario,
      ])
  }

  private func json(at now: Instant) -> JSONObject {
    var (coverage, faults) = (JSONObject(), JSONObject())
    for corner in SoakCoverage.Corner.allCases { coverage.add(corner.word, report.coverage[corner]) }
    for fault in Fault.format.names { faults.add(fault, report.coverage[fault: fault]) }
    return JSONObject(
      event: "result", at: now,
      [
        "passed": report.verdict.isPassed, "verdict": report.verdict.word, "text": report.headline,
        "seeds": options.total, "shard": options.output.shard.isWhole ? nil : "\(options.output.shard)",
        "worlds": report.worlds, "failures": report.failureCount, "perSecond": Int(Double(report.worlds) / seconds),
        "perProcessorSecond": Int(Double(report.worlds) / busy), "hash": "\(report.hash)",
        "coverage": coverage, "faults": faults,
      ])
  }
}
