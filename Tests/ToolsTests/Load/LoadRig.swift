import AccessoryCore
import AccessoryFaults
import AccessoryHost
import AccessoryLoad
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import LinuxIO
import Testing

final class LoadRig {
  let loop: VirtualLoop
  let world: World
  let runner: BurstRunner
  let site: BurstSite
  let accessory: SimulatedAccessory
  var warnings: [String] { log.warnings }
  private let log = Log()
  private var app: AppView?

  private final class Log {
    var warnings: [String] = []
    weak var site: BurstSite?
  }

  init(
    _ plan: BurstPlan, profile: String = "echo", behavior: String? = nil, quirks: [String] = [], faults: [String] = [],
    bytesPerSecond: Int? = nil, knowsLine: Bool = false, seed: UInt64 = 7,
    playing: (any AccessoryBehavior)? = nil
  ) throws {
    loop = VirtualLoop(seed: seed)
    var settings = World.Settings()
    settings.speed.latency = .milliseconds(1)
    settings.speed.bytesPerSecond = bytesPerSecond
    let chain = try faults.flatMap { try LinkPreset.faults($0) }
    settings.faults = chain.map { CableFault($0) }
    // The line rate is set in the same way as in all commands that have `--fault`.
    if knowsLine { settings.peer.link.lineRate = chain.lineRate }
    let log = log
    settings.wrap = { channel, end in end.end == .device ? log.site?.watch(channel) ?? channel : channel }
    world = World(settings, on: loop)
    runner = BurstRunner(plan, on: loop) { event in
      if case .warning(let text) = event.kind { log.warnings.append(text) }
    }
    site = runner.addSite("this machine")
    log.site = site
    let device = world.device
    site.linkCounters = { device.linkCounters }
    var described = try ProfileLibrary().profile(profile)
    if let behavior {
      described.behavior = try Behavior(behavior)
      for index in described.protocols.indices { described.protocols[index].behavior = nil }
    }
    for quirk in quirks { described.apply(try Quirk(quirk)) }
    accessory = world.add(described, behavior: playing.map { playing in { _ in playing } })
    var app = AppSettings()
    app.rules.ignoreInfoPlist()
    self.app = world.device.makeApp(site, settings: BurstRunner.appSettings(app))
    runner.start()
    try accessory.plugIn()
  }

  func finish(limit: Duration = .seconds(36_000)) throws -> BurstReport {
    #expect(try loop.run(until: { runner.outcome != nil }, limit: limit))
    return runner.report
  }

  func tearDown() throws {
    world.tearDown()
    try loop.runUntilQuiet()
  }
}

/// A load test with several echo accessories, each of which has its own world.
final class LoadFleet {
  let loop = VirtualLoop(seed: 7)
  let runner: BurstRunner
  private(set) var warnings: [String] = []
  private var worlds: [World] = []

  /// Plugs in each accessory `interval` after the one before it.
  init(_ plan: BurstPlan, _ names: [String], every interval: Duration = .zero) throws {
    var report: (TimelineEvent) -> Void = { _ in }
    runner = BurstRunner(plan, on: loop) { report($0) }
    report = { [unowned self] event in if case .warning(let text) = event.kind { warnings.append(text) } }
    var app = AppSettings()
    app.rules.ignoreInfoPlist()
    for (number, name) in names.enumerated() {
      let world = World(on: loop)
      worlds.append(world)
      _ = world.device.makeApp(runner.addSite(name), settings: BurstRunner.appSettings(app))
      let accessory = world.add(try ProfileLibrary().profile("echo"))
      loop.schedule(after: interval * number) { try? accessory.plugIn() }
    }
    runner.start()
  }

  func finish() throws -> BurstReport {
    #expect(try loop.run(until: { runner.outcome != nil }, limit: .seconds(3_600)))
    return runner.report
  }

  func tearDown() throws {
    for world in worlds { world.tearDown() }
    try loop.runUntilQuiet()
  }
}
