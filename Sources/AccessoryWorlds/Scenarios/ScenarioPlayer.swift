import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator

/// Plays a scenario in a world with an app, and compares what happened with what was expected.
///
/// ```swift
/// let player = ScenarioPlayer(scenario, client: SoundClient.self, settings: World.Settings(), on: VirtualLoop())
/// player.start()
/// try loop.run(until: { player.isOver })
/// player.comparison.difference   // nil: as expected
/// ```
public final class ScenarioPlayer {
  /// The scenario.
  public let scenario: Scenario
  /// The world it is played in.
  public let world: World

  private let app: ScenarioApp
  private let other: ScenarioApp
  private var parts: [String: SimulatedAccessory] = [:]
  private lazy var timeline = ScenarioTimeline(scenario, holds: false, on: world.loop) { [unowned self] in perform($0) }

  /// A player that has not started. The scenario's device and cable replace those of the settings; the settings' faults
  /// come before the scenario's.
  public init(
    _ scenario: Scenario, client: ScenarioClient.Type, settings: World.Settings, on loop: any EventLoop
  ) {
    self.scenario = scenario
    var settings = settings
    settings.policy = scenario.policy
    settings.authenticationMode = scenario.authentication
    settings.deviceFlicker = scenario.deviceFlicker
    settings.line = scenario.line
    settings.faults += scenario.faults
    let world = World(settings, on: loop)
    self.world = world
    app = ScenarioApp(scenario, client: client, on: world.device) { [unowned world] in world.tell($0) }
    other = ScenarioApp(besideTheAppOf: scenario, on: world.device) { [unowned world] in world.tell($0) }
    for part in scenario.accessories { parts[part.name] = world.add(part.profile) }
  }

  /// The app's client.
  public var client: ScenarioClient { app.client }

  /// Whether every step was played and the time after the last one has passed.
  public var isOver: Bool { timeline.isOver }

  /// Starts; everything else happens on the loop.
  public func start() {
    timeline.start()
  }

  /// What happened, compared with what was expected.
  public var comparison: ScenarioComparison {
    ScenarioComparison(world.events, with: scenario, since: timeline.beginning, surprises: app.surprises)
  }

  /// Ends everything: the app stops, and everything is unplugged. The loop must still run a little for both
  /// ends to notice.
  public func tearDown() {
    timeline.cancel()
    app.quit()
    other.quit()
    world.tearDown()
  }

  private func perform(_ action: Scenario.Action) {
    switch action {
    case .accessoryPlugsIn(let name):
      do { try parts[name]?.plugIn() } catch { preconditionFailure("a cable in memory can always be plugged in") }
    case .accessoryUnplugs(let name): parts[name]?.unplug()
    case .accessoryClosesSessions(let name): parts[name]?.closeSessions()
    case .accessoryForgetsSessions(let name): parts[name]?.forgetSessions()
    case .cablePulled(let name): if let part = parts[name] { world.pull(part) }
    case .cablePulledUnnoticed(let name): if let part = parts[name] { world.pull(part, unnoticed: true) }
    case .deviceHeedsCables(let heeds): world.device.noticesCables = heeds
    case .deviceResetsLink(let name):
      if let part = parts[name] { world.device.resetLinks(serial: part.profile.identity.serialNumber) }
    case .accessorySays(let name, let saying): parts[name]?.say(saying.message, saying.parameters)
    case .deviceSays(let name, let saying):
      if let part = parts[name] {
        world.device.say(saying.message, saying.parameters, toSerial: part.profile.identity.serialNumber)
      }
    case .app(let action): app.perform(action)
    case .sdk(let action): app.performSDK(action)
    case .otherApp(let action): other.perform(action)
    }
  }
}
