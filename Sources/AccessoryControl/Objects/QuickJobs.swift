import AccessoryCables
import AccessoryCore
import AccessoryPages
import AccessoryRuns
import AccessorySoak
import AccessoryWorlds
import LinuxIO

/// Runs that do not need real time: scenarios in virtual time, and worlds generated from seeds.
extension ControlledJob {
  /// How many turns the virtual loop runs before other clients are served.
  private static let turnsAtOnce = 2_000
  /// The maximum size of a run's trace in bytes, which is low because a server keeps many traces.
  private static let mostTraced = 1 << 20

  func play(_ scenario: Scenario, client: ScenarioClient.Type, named name: String, seed: UInt64) {
    struct Stuck: Error, CustomStringConvertible {
      let description = "the scenario is not over, but nothing is left to do"
    }
    let loop = VirtualLoop(seed: seed)
    var lines: [String] = []
    var settings = World.Settings()
    let trace = TraceRecorder(
      program: program, command: "easim scenario run \(scenario.name) --client \(name)", time: "virtual",
      limit: Self.mostTraced)
    let cables = CaptureRecorder(program: "") { _ in }
    trace.follow(cables)
    (self.trace, settings.recorder) = (trace, cables)
    settings.report = {
      lines.append($0.json)
      trace.add($0)
    }
    let player = ScenarioPlayer(scenario, client: client, settings: settings, on: loop)
    player.start()
    work {
      for _ in 0..<Self.turnsAtOnce {
        if player.isOver { return nil }
        if try !loop.step() { throw Stuck() }
      }
      return (loop.now - .origin).inSeconds / max(scenario.length.inSeconds, 0.001)
    } finish: { [self] isCancelled, failure in
      let (verdict, length) = (player.verdict, loop.now)
      player.tearDown()
      _ = try? loop.advance(by: .milliseconds(100))
      loop.dropWork()
      end(
        scenario, client: name, isCancelled: isCancelled, passed: failure == nil && verdict.passed,
        failure ?? verdict.text, length: length - .origin, lines)
    }
  }

  /// Ends a job that ran a scenario. `timeline` contains the events as JSON.
  func end(
    _ scenario: Scenario, client: String, isCancelled: Bool, passed: Bool, _ result: String, length: Duration,
    _ timeline: [String]
  ) {
    let text = isCancelled ? "it was cancelled" : result
    var report = ScenarioReport([scenario.name], options: [], program: program)
    if isCancelled {
      report.stoppedBy = "job.cancel"
    } else {
      report.add(
        ScenarioReport.Run(
          scenario: scenario.name, summary: scenario.about.summary, client: client, passed: passed, text: text,
          length: length, timeline: timeline))
    }
    end(
      report, isCancelled: isCancelled, text,
      ownForms: [
        .json: "[\(timeline.joined(separator: ","))]", .text: "\(scenario.name): \(report.verdict.word): \(text)\n",
      ])
  }

  func soak(from first: UInt64, count: Int) {
    var report = SoakReport(SoakRecipe())
    let begin = world.server.loop.now
    work {
      if report.worlds == count { return nil }
      report.add(Soak.run(SoakPlan(seed: first &+ UInt64(report.worlds))))
      // Progress is rounded, so that there is only one notice per 50 worlds.
      return Double(report.worlds / 50 * 50) / Double(count)
    } finish: { [self] isCancelled, _ in
      report.complete(first: first, seeds: count, stoppedBy: isCancelled ? "job.cancel" : nil, program: program)
      report.took = world.server.loop.now - begin
      end(report, isCancelled: isCancelled, report.headline)
    }
  }
}
