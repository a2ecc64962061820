import AccessoryCore
import AccessorySoak
import AccessoryTransports
import AccessoryWorlds

/// Runs that take no time but the machine's: a scenario in virtual time, and seeded worlds. Both do a little in each turn of
/// the server's loop, so that other clients get their turn.
enum QuickJobs {
  /// How many turns of virtual time are made at once.
  private static let turnsAtOnce = 2_000

  // MARK: Scenarios

  static func play(
    _ scenario: Scenario, client: ScenarioClient.Type, named name: String, seed: UInt64, _ job: ControlledJob
  ) {
    let loop = VirtualLoop(seed: seed)
    var lines: [String] = []
    var settings = World.Settings()
    settings.report = { lines.append($0.json) }
    let player = ScenarioPlayer(scenario, client: client, settings: settings, on: loop)
    player.start()
    var isCancelled = false
    job.stop = { isCancelled = true }
    func finish(_ failure: String?) {
      let (verdict, length) = (player.verdict, loop.now)
      player.tearDown()
      _ = try? loop.advance(by: .milliseconds(100))
      loop.dropWork()
      let text = isCancelled ? "it was cancelled" : failure ?? verdict.text
      var report = ScenarioReport([scenario.name], options: [], program: job.program)
      if isCancelled {
        report.stoppedBy = "job.cancel"
      } else {
        report.add(
          ScenarioReport.Run(
            scenario: scenario.name, summary: scenario.about.summary, client: name,
            passed: failure == nil && verdict.passed, text: text, length: length - .origin, timeline: lines))
      }
      let (whole, made) = (lines, report)
      job.report = { form in
        switch form {
        case .json: "[\(whole.joined(separator: ","))]"
        case .text: "\(scenario.name): \(made.verdict.word): \(text)\n"
        case .html: made.html
        case .xml: made.junit.xml
        }
      }
      job.end(passed: made.verdict.isPassed, isCancelled: isCancelled, text)
    }
    func step() {
      if isCancelled { return finish(nil) }
      do {
        for _ in 0..<turnsAtOnce {
          if player.isOver { return finish(nil) }
          if try !loop.step() { return finish("nothing is left to do before the scenario is over") }
        }
      } catch { return finish("\(error)") }
      job.progress((loop.now - .origin).inSeconds / max(scenario.length.inSeconds, 0.001))
      job.world.server.later(step)
    }
    job.world.server.later(step)
  }

  // MARK: Seeded worlds

  static func soak(from first: UInt64, count: Int, _ job: ControlledJob) {
    var results = SoakReport()
    var isCancelled = false
    job.stop = { isCancelled = true }
    let begin = job.world.server.loop.now
    func finish() {
      let took = job.world.server.loop.now - begin
      let report = SoakRunReport(
        results, [], SoakRecipe(), first: first, seeds: count, stoppedBy: isCancelled ? "job.cancel" : nil,
        program: job.program)
      job.report = { form in
        switch form {
        case .json: report.json.text
        case .text: report.text + "\n"
        case .html: report.html
        case .xml: report.suite(time: took).xml
        }
      }
      job.end(passed: report.verdict.isPassed, isCancelled: isCancelled, report.headline)
    }
    func step() {
      if isCancelled || results.count == count { return finish() }
      results.add(Soak.run(seed: first &+ UInt64(results.count)))
      if results.count % 50 == 0 { job.progress(Double(results.count) / Double(count)) }
      job.world.server.later(step)
    }
    job.world.server.later(step)
  }
}
