import AccessoryCore
import AccessoryHost
import AccessoryLoad
import AccessoryProfiles
import AccessorySimulator
import AccessoryWorlds

/// Load tests on accessories in worlds of their own, all on one loop: what `easim burst ADDR…` does, without the processes.
final class BurstWorlds {
  private let runner: BurstRunner
  private var worlds: [World] = []
  private var apps: [AppView] = []
  private var accessories: [SimulatedAccessory] = []

  /// Runs the loop until a condition holds.
  typealias Running = (_ condition: () -> Bool) throws -> Bool

  /// Creates this many accessories. With a `latency`, time passes while bursts are in flight, which a virtual loop
  /// requires.
  init(
    _ count: Int, _ plan: BurstPlan, latency: Duration = .zero, on loop: any EventLoop,
    behavior: (any AccessoryBehavior)? = nil
  ) throws {
    runner = BurstRunner(plan, on: loop)
    var app = AppSettings()
    app.rules.visibility = .all
    app.rules.undeclaredSessions = .allowed
    var profile = try ProfileLibrary().profile("echo")
    // The longest packet of the protocol.
    profile.link.maximumPacketLength = 65_535
    for number in 0..<count {
      let site = runner.addSite("accessory \(number)")
      var settings = World.Settings()
      settings.speed.latency = latency
      settings.wrap = { channel, end in end.end == .device ? site.watch(channel) : channel }
      let world = World(settings, on: loop)
      worlds.append(world)
      apps.append(world.device.makeApp(site, settings: BurstRunner.appSettings(app)))
      accessories.append(world.add(profile, behavior: behavior.map { behavior in { _ in behavior } }))
    }
  }

  /// Plugs all of them in, up to the moment at which the first burst begins.
  func attach(_ run: Running) throws {
    runner.start()
    for accessory in accessories { try accessory.plugIn() }
    guard try run({ runner.isRunning || runner.outcome != nil }), runner.outcome == nil else {
      throw MeasuringError.failed("the accessories were not there: \(runner.report.ending)")
    }
  }

  /// Plays the plan to its end.
  func play(_ run: Running) throws {
    _ = try run { runner.outcome != nil }
    guard runner.outcome == .done else { throw MeasuringError.failed("the bursts: \(runner.report.ending)") }
  }

  /// Plays on until so many bursts more are complete, and returns how many were completed.
  func play(bursts count: Int, _ run: Running) throws -> Int {
    let before = runner.progress.bursts
    guard try run({ runner.progress.bursts >= before + count || runner.outcome != nil }), runner.outcome == nil else {
      throw MeasuringError.failed("the bursts: \(runner.report.ending)")
    }
    return runner.progress.bursts - before
  }

  func tearDown() {
    for world in worlds { world.tearDown() }
    for app in apps { app.close() }
  }
}
