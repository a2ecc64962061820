import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator

/// Plays a scenario in a world, with an app in it, and says how what happened compares with what was expected.
///
/// ```swift
/// let player = ScenarioPlayer(scenario, client: SoundClient.self, settings: World.Settings(), on: VirtualLoop())
/// player.start()
/// try loop.run(until: { player.isOver })
/// player.comparison.difference   // nil: as expected
/// ```
public final class ScenarioPlayer {
  /// What is played.
  public let scenario: Scenario
  /// The world it is played in.
  public let world: World
  /// The app in it.
  public let client: ScenarioClient
  /// Whether everything was played and the time after it has passed.
  public private(set) var isOver = false

  private var parts: [String: SimulatedAccessory] = [:]
  private var app: AppView?
  private var timers: [LoopTimer] = []

  /// A player that has not begun. The scenario's device takes the place of the settings'.
  public init(
    _ scenario: Scenario, client: ScenarioClient.Type, settings: World.Settings, on loop: any EventLoop
  ) {
    self.scenario = scenario
    var settings = settings
    settings.policy = scenario.policy
    settings.deviceFlicker = scenario.deviceFlicker
    settings.line = scenario.line
    world = World(settings, on: loop)
    let wanted = scenario.accessories.flatMap(\.profile.protocols).first?.name ?? "com.example.none"
    self.client = client.init(wanting: wanted, on: loop)
    for part in scenario.accessories { parts[part.name] = world.add(part.profile) }
    app = world.device.makeApp(self.client)
  }

  /// Begins; everything else follows on the loop.
  public func start() {
    let begin = world.loop.now
    for step in scenario.steps {
      let timer = world.loop.makeTimer { [unowned self] in perform(step.action) }
      timer.arm(at: begin + step.at)
      timers.append(timer)
    }
    let end = world.loop.makeTimer { [unowned self] in isOver = true }
    end.arm(at: begin + (scenario.steps.last?.at ?? .zero) + scenario.tail)
    timers.append(end)
  }

  /// How what happened compares with what was expected.
  public var comparison: ScenarioComparison {
    let names = scenario.accessories.map { ($0.profile.identity.serialNumber, $0.name) }
    return ScenarioComparison(
      world.events, with: scenario.expectations, names: Dictionary(names, uniquingKeysWith: { first, _ in first }))
  }

  /// Ends what still goes on: the app looks no longer, and everything is unplugged. The loop must still run a little for
  /// both ends to hear of it.
  public func tearDown() {
    for timer in timers { timer.cancel() }
    app?.close()
    app = nil
    world.tearDown()
  }

  private func perform(_ action: Scenario.Action) {
    switch action {
    case .accessoryPlugsIn(let name):
      do { try parts[name]?.plugIn() } catch { preconditionFailure("a cable in memory can always be plugged in") }
    case .accessoryUnplugs(let name): parts[name]?.unplug()
    case .accessoryClosesSessions(let name): parts[name]?.closeSessions()
    case .cablePulled(let name): if let part = parts[name] { world.pull(part) }
    case .deviceResetsLink(let name):
      if let part = parts[name] { world.device.resetLinks(serial: part.profile.identity.serialNumber) }
    }
  }
}
