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

  static func play(_ scenario: Scenario, client: ScenarioClient.Type, seed: UInt64, _ job: ControlledJob) {
    let loop = VirtualLoop(seed: seed)
    var lines: [String] = []
    var settings = World.Settings()
    settings.report = { lines.append($0.json) }
    let player = ScenarioPlayer(scenario, client: client, settings: settings, on: loop)
    player.start()
    var isCancelled = false
    job.stop = { isCancelled = true }
    func finish(_ failure: String?) {
      let verdict = player.verdict
      player.tearDown()
      _ = try? loop.advance(by: .milliseconds(100))
      let passed = failure == nil && verdict.passed && !isCancelled
      let text = failure ?? verdict.text
      let whole = lines
      job.report = { form throws(RPCError) in
        switch form {
        case .json: "[\(whole.joined(separator: ","))]"
        case .text: "\(scenario.name): \(passed ? "passed" : "failed"): \(text)\n"
        case .html, .xml: throw RPCError(.params, "form: a scenario has its report as json and as text")
        }
      }
      job.end(passed: passed, isCancelled: isCancelled, isCancelled ? "it was cancelled" : text)
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
    var played = 0
    var failures: [SoakOutcome] = []
    var failureCount = 0
    var hash: UInt64 = 0
    var isCancelled = false
    job.stop = { isCancelled = true }
    func finish() {
      let (whole, number, sum, failed) = (failures, played, hash, failureCount)
      job.report = { form throws(RPCError) in
        switch form {
        case .json:
          var object = JSONObject()
          object.add("worlds", number)
          object.add("failures", failed)
          object.add("hash", Hex.number(sum, uppercase: false))
          object.add("broken", whole.map(\.description))
          return object.text
        case .text:
          return whole.map { "\($0)\n" }.joined() + "\(number.counted("world")), \(failed.counted("failure"))\n"
        case .html, .xml: throw RPCError(.params, "form: seeded worlds have their report as json and as text")
        }
      }
      let text =
        failed == 0
        ? "\(played.counted("world")): every rule held" : "\(failed) of \(played.counted("world")) broke a rule"
      job.end(passed: failed == 0 && !isCancelled, isCancelled: isCancelled, text)
    }
    func step() {
      if isCancelled || played == count { return finish() }
      let outcome = Soak.run(seed: first &+ UInt64(played))
      played += 1
      hash &+= outcome.hash
      if !outcome.violations.isEmpty {
        failureCount += 1
        if failures.count < 100 { failures.append(outcome) }
      }
      if played % 50 == 0 { job.progress(Double(played) / Double(count)) }
      job.world.server.later(step)
    }
    job.world.server.later(step)
  }
}
