import AccessoryCore
import AccessoryHost
import AccessoryLoad
import AccessoryProfiles
import AccessorySimulator
import AccessoryWorlds

/// Load tests with accessories in separate worlds, all on one loop. They do the same as `easim burst ADDR…`, but in one
/// process.
final class BurstWorlds {
  private let runner: BurstRunner
  private var worlds: [World] = []
  private var apps: [AppView] = []
  private var accessories: [SimulatedAccessory] = []

  /// Runs the loop until a condition holds.
  typealias Running = (_ condition: () -> Bool) throws -> Bool

  /// Creates the given number of accessories. A `latency` is required on a virtual loop, so that time passes while
  /// bursts are in flight.
  init(
    _ count: Int, _ plan: BurstPlan, latency: Duration = .zero, on loop: any EventLoop,
    behavior: (any AccessoryBehavior)? = nil
  ) throws {
    runner = BurstRunner(plan, on: loop)
    var app = AppSettings()
    app.rules.visibility = .all
    app.rules.undeclaredSessions = .allowed
    var profile = try ProfileLibrary().profile("echo")
    // The protocol's maximum packet length.
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

  /// Plugs in all accessories, and returns when the first burst begins.
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

  /// Continues until the given number of further bursts is complete. Returns how many were completed.
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
