import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import LinuxIO

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
  private var parts: [String: SimulatedAccessory] = [:]
  /// Takes the device from the cable of an accessory that is in another process; nil when the accessories are here.
  private let sever: ((String) -> Void)?
  private lazy var actions = {
    var actions = ActionPlayer(in: world) { [unowned self] in
      parts[$0]
    } app: { [unowned self] in
      app.perform($0, of: $1)
    }
    if let sever {
      // The other process plays everything else about accessories.
      actions.pull = { name, unnoticed in if unnoticed { sever(name) } }
      actions.serial = { [scenario] name in
        scenario.accessories.first { $0.name == name }?.profile.identity.serialNumber
      }
    }
    return actions
  }()
  private(set) lazy var timeline = ScenarioTimeline(scenario, holds: sever != nil, on: world.loop) { [unowned self] in
    do { try actions.perform($0) } catch { preconditionFailure("a cable in memory can always be plugged in") }
  }

  /// A player that has not started. The scenario's device and cable replace those of the settings; the settings' faults
  /// come before the scenario's.
  public convenience init(
    _ scenario: Scenario, client: ScenarioClient.Type, settings: World.Settings, on loop: any EventLoop
  ) {
    self.init(scenario, client: client, settings: settings, on: loop, sever: nil)
  }

  /// One without accessories, where `sever` is there for those of another process.
  init(
    _ scenario: Scenario, client: ScenarioClient.Type, settings: World.Settings, on loop: any EventLoop,
    sever: ((String) -> Void)?
  ) {
    (self.scenario, self.sever) = (scenario, sever)
    var settings = settings
    settings.policy = scenario.policy
    settings.authenticationMode = scenario.authentication
    settings.deviceFlicker = scenario.deviceFlicker
    settings.line = scenario.line
    settings.faults += scenario.faults
    let world = World(settings, on: loop)
    self.world = world
    app = ScenarioApp(scenario, client: client, on: world.device) { [unowned world] in world.tell($0) }
    guard sever == nil else { return }
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
    ScenarioComparison(
      world.events, with: scenario, since: timeline.beginning, surprises: app.surprises,
      tolerance: sever == nil ? .none : .realTime)
  }

  /// Ends everything: the app stops, and everything is unplugged. The loop must still run a little for both
  /// ends to notice.
  public func tearDown() {
    stop()
    world.tearDown()
  }

  /// Plays nothing more, and stops the app.
  func stop() {
    timeline.cancel()
    app.quit()
  }
}
