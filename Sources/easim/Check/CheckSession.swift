import AccessoryCheck
import AccessoryCore
import AccessoryFormats
import AccessoryRuns
import AccessorySessions
import Certificates

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
    settings.order = options.shared.tolerance.order ?? .auto
    let chosen = try AccessoryTarget.choose(at: options.address, options.shared.protocolName, on: runtime, console)
    let plug = try AddressPlug(
      options.address, media, on: runtime.loop, options: cables.transport,
      where: { accessory in chosen.map { $0 == accessory.identity } ?? true },
      wrap: { [cables, options] in cables.wrap($0, at: .device, place: options.address.description) })
    try cables.openFiles(console)
    console.trace?.recorder.readsLinks = true
    let checker = Checker(plug, CheckPump(runtime.loop) { [runtime] in runtime.signal != nil }, settings)
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
    if let stopper = runtime.stopper { report.ending = .stopped(by: stopper) }
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

  // MARK: Progress

  private var judged = 0

  private func handle(_ result: CheckResult) {
    judged += 1
    console.witness(TimelineEvent(time: runtime.loop.now, side: .app, kind: .note(result.text)))
    bar.clear()
    let line = { JSONObject(event: "case", at: self.runtime.loop.now, side: .app, ["case": result.json]).text }
    console.outJudged(console.isJSON ? line() : result.text)
    bar.draw(Double(judged) / Double(cases.count), "\(judged) of \(cases.count) cases")
  }

  // MARK: Conclusion

  private func conclude(_ report: CheckReport) throws -> ExitCode {
    var report = report
    try output.readBaseline(for: report)
    output.compare(&report)
    output.write(report)
    let verdict = report.outcome
    let code = exitCode(report, verdict)
    if console.isJSON {
      console.out(
        JSONObject(
          event: "result", at: runtime.loop.now, side: .app,
          ["passed": verdict.isPassed, "verdict": verdict.word, "text": report.summary, "report": report.json]
        ))
    } else {
      console.outJudged(report.endOfList)
    }
    switch report.ending {
    case .complete, .stopped: break
    case .gone(let reason): console.err("easim: the accessory did not come back: \(reason)")
    }
    return code
  }

  private func exitCode(_ report: CheckReport, _ verdict: Verdict) -> ExitCode {
    // The loss of the accessory determines the exit code only if nothing else failed.
    if case .gone = report.ending, verdict.reasons.count == 1 { return .gone }
    return verdict.isPassed ? .done : .checkFailed
  }
}
