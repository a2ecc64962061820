import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import LinuxIO

/// Runs a scenario in a world with an app, and compares the app's events with the expected events.
///
/// ```swift
/// let player = ScenarioPlayer(scenario, client: RobustClient.self, settings: World.Settings(), on: VirtualLoop())
/// player.start()
/// try loop.run(until: { player.isOver })
/// player.comparison.difference   // nil: as expected
/// ```
public final class ScenarioPlayer {
  /// The scenario.
  public let scenario: Scenario
  /// The world in which the scenario runs.
  public let world: World

  private let app: ScenarioApp
  private var parts: [String: SimulatedAccessory] = [:]
  /// Disconnects the device from an accessory in another process, or nil if the accessories are in this process.
  private let sever: ((String) -> Void)?
  private lazy var actions = {
    var actions = ActionPlayer(in: world) { [unowned self] in
      parts[$0]
    } app: { [unowned self] in
      app.perform($0, of: $1)
    }
    if let sever {
      // The other process performs all actions on accessories except unnoticed unplugs.
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

  /// Creates a player without starting it. The scenario's settings for the device and the cable override those in
  /// `settings`. Faults in `settings` come before the scenario's faults. If the accessories are in another process,
  /// `sever` disconnects the device from one of them.
  public init(
    _ scenario: Scenario, client: ScenarioClient.Type, settings: World.Settings, on loop: any EventLoop,
    sever: ((String) -> Void)? = nil
  ) {
    (self.scenario, self.sever) = (scenario, sever)
    var settings = settings
    settings.policy = scenario.policy
    settings.authenticationMode = scenario.authentication
    settings.order = scenario.order
    settings.deviceFlicker = scenario.deviceFlicker
    settings.speed = scenario.speed
    settings.faults += scenario.faults
    let world = World(settings, on: loop)
    self.world = world
    app = ScenarioApp(scenario, client: client, on: world.device) { [unowned world] in world.record($0) }
    guard sever == nil else { return }
    for part in scenario.accessories { parts[part.name] = world.add(part.profile) }
  }

  /// The app's client.
  public var client: ScenarioClient { app.client }

  /// Whether all steps have been performed and the wait after the last step is over.
  public var isOver: Bool { timeline.isOver }

  /// Starts the scenario. After this call, the scenario runs on the loop.
  public func start() {
    timeline.start()
  }

  /// The comparison of the app's events with the expected events.
  public var comparison: ScenarioComparison {
    ScenarioComparison(
      world.events, with: scenario, since: timeline.beginning, surprises: app.surprises,
      inRealTime: sever != nil)
  }

  /// Stops the app and unplugs everything. Run the loop briefly after this call, so that both sides notice the unplug.
  public func tearDown() {
    stop()
    world.tearDown()
  }

  func stop() {
    timeline.cancel()
    app.quit()
  }
}

/// A scenario's result. A scenario passes if the app's events are as expected and the app has a working session at the
/// end.
public struct ScenarioVerdict: Equatable, Sendable {
  /// Whether the scenario passed.
  public let passed: Bool
  /// The first difference, if there is one, and the app's result.
  public let text: String

  /// Creates the verdict on a finished scenario from its comparison and its client.
  public init(_ comparison: ScenarioComparison, _ client: ScenarioClient) {
    let report = client.report
    passed = comparison.difference == nil && report.isServing
    text = comparison.difference.map { "\($0); \(report.text)" } ?? report.text
  }
}

extension ScenarioPlayer {
  /// The verdict on the app in its current state. Read the verdict before ``tearDown()``, which ends the sessions.
  public var verdict: ScenarioVerdict { ScenarioVerdict(comparison, client) }
}
