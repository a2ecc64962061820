import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryPages
import AccessoryRuns
import AccessorySessions
import AccessorySoak
import AccessoryWorlds
import LinuxIO

/// Runs a scenario's accessories and cables in one of the server's worlds, for an app in that world.
///
/// The scenario does not change the world's device. The scenario skips steps for the device, other apps and other SDKs,
/// and lists the skipped steps in the result. When the scenario ends, its accessories are removed.
final class LiveScenario {
  private static let period = Duration.milliseconds(500)

  private let scenario: Scenario
  private let app: ControlledApp
  private let job: ControlledJob
  private var parts: [String: ControlledAccessory] = [:]
  private var timeline: ScenarioTimeline?
  private var timer: LoopTimer?
  private let firstNumber: Int
  private var failure: String?
  private var unplayed: [String] = []

  init(_ scenario: Scenario, with app: ControlledApp, _ job: ControlledJob) {
    (self.scenario, self.app, self.job) = (scenario, app, job)
    firstNumber = app.world.lastNumber
    if scenario.policy != .ready || scenario.deviceFlicker != nil || scenario.authentication != .verify {
      unplayed.append("the scenario's device")
    }
  }

  func start() throws -> String {
    let world = job.world
    for part in scenario.accessories {
      let id = try world.server.accessories.issue()
      let made = ControlledAccessory(id, part.profile, at: nil, in: world)
      world.server.accessories.put(made, named: id)
      parts[part.name] = made
      let faults = scenario.speed.faults.map { CableFault($0, at: .accessory) } + scenario.faults
      if !faults.isEmpty { try made.perform(.faults(faults, of: id)) }
    }
    let timeline = ScenarioTimeline(scenario, holds: false, on: world.loop) { [unowned self] in perform($0) }
    self.timeline = timeline
    job.stop = { self.finish(isCancelled: true) }
    timer = world.loop.makeTimer { self.look() }
    timer?.arm(at: world.loop.now + Self.period)
    timeline.start()
    return job.id
  }

  private func perform(_ action: WorldAction) {
    do {
      switch action {
      case .accessory(_, let name), .pull(let name, _), .faults(_, let name), .resetLink(let name),
        .deviceMessage(_, let name):
        try parts[name]?.perform(action)
      case .noticeCables(let notices): job.world.world.device.noticesCables = notices
      case .app(let action, .tested), .app(let action, .named): try perform(action)
      case .app(_, .sdk), .app(_, .other): skip("other apps and SDKs")
      }
    } catch { failure = failure ?? error.message }
  }

  private func perform(_ action: AppAction) throws(RPCError) {
    switch action {
    case .opensSession, .closesSession, .looks, .launches: skip("the app's own actions")
    case .quits, .ends, .registers, .unregisters, .moves: try app.perform(action)
    }
  }

  private func skip(_ what: String) { if !unplayed.contains(what) { unplayed.append(what) } }

  private func look() {
    guard let timeline else { return }
    if timeline.isOver { return finish(isCancelled: false) }
    timer?.arm(at: job.world.loop.now + Self.period)
    job.progress((job.world.loop.now - timeline.beginning).inSeconds / max(scenario.length.inSeconds, 0.001))
  }

  private func finish(isCancelled: Bool) {
    guard let timeline else { return }
    timeline.cancel()
    timer?.cancel()
    // Breaks retain cycles: the timeline and the timer retain this object.
    (self.timeline, timer, job.stop) = (nil, nil, {})
    let world = job.world
    let events = seen(world.notices(after: firstNumber, atMost: .max))
    let comparison = ScenarioComparison(
      events, with: scenario, since: timeline.beginning, inRealTime: world.virtual == nil)
    for part in parts.values { part.remove() }
    let difference = failure ?? comparison.difference?.description
    let aside = unplayed.isEmpty ? "" : "; not played: \(unplayed.joined(separator: ", "))"
    job.end(
      scenario, client: app.name, isCancelled: isCancelled, passed: difference == nil,
      (difference ?? "\(app.name) saw what was expected") + aside, length: world.loop.now - timeline.beginning,
      events.map(\.json))
  }

  /// Returns the app's events in the format that scenarios expect. Events about other accessories, and about
  /// connections that began before the run, are left out.
  private func seen(_ notices: [ControlNotice]) -> [TimelineEvent] {
    let serials = Set(scenario.accessories.map(\.profile.identity.serialNumber))
    var connections: Set<Int> = []
    return events(notices).filter { event in
      guard let subject = event.subject, serials.contains(subject.serial) else { return false }
      if case .connect = event.kind, let id = subject.connectionID { connections.insert(id) }
      return subject.connectionID.map { connections.contains($0) } ?? true
    }
  }

  private func events(_ notices: [ControlNotice]) -> [TimelineEvent] {
    notices.compactMap { notice in
      switch notice.content {
      case .event(let event): return event
      case .app(let id, let accessory):
        guard id == app.id, let accessory else { return nil }
        let kinds: [String: TimelineEvent.Kind] = ["connect": .connect, "disconnect": .disconnect]
        return kinds[notice.name].map {
          TimelineEvent(
            time: notice.time, side: .app, kind: $0,
            subject: TimelineEvent.Subject(
              name: accessory.name, serial: accessory.serialNumber, protocols: accessory.protocols,
              connectionID: accessory.connectionID))
        }
      case .session, .change: return nil
      }
    }
  }
}

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
