import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import Certificates
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

  /// The verdict on the app in its current state. Read the verdict before ``tearDown()``, which ends the sessions.
  public var verdict: ScenarioVerdict { ScenarioVerdict(comparison, client) }

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

/// Performs the actions in a scenario that affect the device and the app, and compares the app's events with the
/// expected events. The accessories are in another process (``ScenarioAccessories``).
///
/// At the first plug-in, the scenario's clock pauses until the device has a cable.
///
/// ```swift
/// let side = ScenarioDevice(scenario, client: RobustClient.self, on: loop) { print($0.json) }
/// try side.start { device, index in
///   try media.makeDialer(to: addresses[index], for: device, on: loop, wrap: { side.wrap($0) })
/// }
/// loop.run(until: { side.isOver })
/// side.comparison.difference
/// ```
public final class ScenarioDevice {
  /// The simulated device.
  public var device: Device { player.world.device }

  private let scenario: Scenario
  private let loop: any EventLoop
  private lazy var player = makePlayer()
  private let type: ScenarioClient.Type
  private let report: (TimelineEvent) -> Void
  private var dialers: [Dialer] = []
  private var dial: (Device, Int) throws -> Dialer? = { _, _ in nil }
  private var cables: [Weak] = []

  private struct Weak {
    weak var channel: SeverableChannel?
    /// The index of the accessory in the scenario. The index is known only if each accessory has its own address.
    var accessory: Int?
  }

  /// Creates a device that runs the scenario's app. The device has no cables yet.
  public init(
    _ scenario: Scenario, client: ScenarioClient.Type, on loop: any EventLoop,
    report: @escaping (TimelineEvent) -> Void
  ) {
    (self.scenario, self.loop, self.report, type) = (scenario, loop, report, client)
  }

  private func makePlayer() -> ScenarioPlayer {
    var settings = World.Settings()
    settings.authentication = .real
    settings.report = { [unowned self] event in
      report(event)
      guard event.side == .device, case .attach = event.kind else { return }
      hasBegun = true
      player.timeline.release()
    }
    return ScenarioPlayer(scenario, client: type, settings: settings, on: loop) { [unowned self] in sever($0) }
  }

  /// The app's client.
  public var client: ScenarioClient { player.client }
  /// Whether all steps have been performed and the wait after the last step is over.
  public var isOver: Bool { player.isOver }
  /// Whether the device has ever had a cable. The first cable starts the scenario's clock.
  public private(set) var hasBegun = false
  /// Why there is no cable, if the reason is known.
  public var trouble: TransportError? { dialers.compactMap(\.trouble).first }

  /// The comparison of the app's events with the expected events. The comparison has a tolerance because the two
  /// processes have separate clocks.
  public var comparison: ScenarioComparison { player.comparison }

  /// Starts the scenario, and uses a dialer to keep the device connected to each accessory. `dial` creates the dialer
  /// for the accessory with a given index, or returns nil if an earlier dialer also finds that accessory. After an
  /// unplug that the device does not notice, `dial` is called again, because the cable of the old dialer still counts
  /// as plugged in.
  public func start(_ dial: @escaping (Device, Int) throws -> Dialer?) throws {
    self.dial = dial
    player.start()
    for place in scenario.accessories.indices { try connect(place) }
  }

  private func connect(_ place: Int) throws {
    guard let dialer = try dial(device, place) else { return }
    dialers.append(dialer)
    try dialer.start()
  }

  /// Adds the scenario's faults to a cable of the accessory with this index, or of any accessory if the index is nil.
  public func wrap(_ cable: Cable, accessory: Int? = nil) -> Cable {
    let severable = SeverableChannel(around: cable.main, on: loop)
    cables.removeAll { $0.channel == nil }
    cables.append(Weak(channel: severable, accessory: accessory))
    let faults = scenario.faults.filter { $0.end == .device }.map(\.fault)
    let (loop, world) = (loop, player.world)
    return cable.wrapped(main: { _ in severable }, side: { $1 }).faulty(
      faults, random: { SeededRandom(seed: loop.random.next()) }, on: loop,
      report: { [weak world] in world?.record(TimelineEvent(time: loop.now, side: .cable, kind: .fault($0.description)))
      }
    )
  }

  /// Unplugs everything. Run the loop briefly after this call, so that the other side notices the unplug.
  public func tearDown() {
    for dialer in dialers { dialer.stop() }
    player.stop()
    device.unplugAll("the scenario is over")
  }

  private func sever(_ name: String) {
    guard let place = scenario.accessories.firstIndex(where: { $0.name == name }) else { return }
    for cable in cables where cable.accessory == nil || cable.accessory == place { cable.channel?.sever() }
    do { try connect(place) } catch { preconditionFailure("redialling failed: \(error)") }
  }
}

/// Performs the actions in a scenario that affect accessories and cables. The device is in another process
/// (``ScenarioDevice``).
///
/// At the first plug-in, the scenario's clock pauses until a device connects. This process also simulates the delay and
/// the faults on the scenario's cables.
///
/// ```swift
/// let side = ScenarioAccessories(scenario, at: [port], coprocessor: makeCoprocessor, on: loop) { print($0.json) }
/// side.start()
/// loop.run(until: { side.isOver })
/// side.tearDown()
/// ```
public final class ScenarioAccessories {
  private var cables: [String: ScenarioCables] = [:]
  private var parts: [String: SimulatedAccessory] = [:]
  private let loop: any EventLoop
  private let report: (TimelineEvent) -> Void
  private let scenario: Scenario
  private lazy var actions = {
    // The other process performs actions on the device and on apps.
    var actions = ActionPlayer()
    actions.accessory = { [unowned self] in parts[$0] }
    actions.pull = { [unowned self] name, _ in pull(name) }
    return actions
  }()
  private lazy var timeline = ScenarioTimeline(scenario, holds: true, on: loop) { [unowned self] in
    do { try actions.perform($0) } catch { failure = failure ?? error }
  }

  /// Creates the accessories without plugging them in. Each accessory uses the port that has the same index.
  public init(
    _ scenario: Scenario, at ports: [any Port], coprocessor: (Profile) -> any AccessoryAuthenticator,
    on loop: any EventLoop, report: @escaping (TimelineEvent) -> Void
  ) {
    precondition(ports.count == scenario.accessories.count, "each accessory of a scenario has its own port")
    self.scenario = scenario
    self.loop = loop
    self.report = report
    let faults = scenario.speed.faults + scenario.faults.filter { $0.end == .accessory }.map(\.fault)
    for (part, port) in zip(scenario.accessories, ports) {
      let own = ScenarioCables(on: loop)
      own.onCable = { [unowned self] in timeline.release() }
      cables[part.name] = own
      parts[part.name] = SimulatedAccessory(
        part.profile, at: WrappedPort(port) { own.wrap($0, faults: faults, on: loop) },
        authenticator: coprocessor(part.profile), on: loop, report: report)
    }
  }

  /// Whether all steps have been performed and the wait after the last step is over.
  public var isOver: Bool { timeline.isOver }
  /// Whether a device is connected to a cable.
  public var hasDevice: Bool { cables.values.contains(where: \.hasCable) }
  /// The reason why the scenario cannot continue, for example because an address is in use.
  public private(set) var failure: (any Error)?

  /// Starts the scenario. After this call, the scenario runs on the loop.
  public func start() {
    timeline.start()
  }

  /// Unplugs everything.
  public func tearDown(_ reason: String) {
    timeline.cancel()
    for part in parts.values { part.unplug(reason) }
  }

  private func pull(_ name: String) {
    guard let part = parts[name], let own = cables[name] else { return }
    let name = part.profile.identity.name
    report(TimelineEvent(time: loop.now, side: .cable, kind: .fault("the cable of \(name) is pulled")))
    own.pull()
    // The accessory notices the unplug only when its channel ends.
    loop.schedule(after: .zero) { part.unplug("the cable was pulled") }
  }
}

extension World.Settings.CableSpeed {
  /// Faults that imitate the speed of the cables, for channels that do not simulate a delay.
  package var faults: [Fault] {
    var faults: [Fault] = []
    if let bytesPerSecond { faults.append(Fault(.rate(Fault.Rate(bytes: bytesPerSecond)))) }
    if latency > .zero { faults.append(Fault(.latency(Fault.Latency(delay: latency)))) }
    return faults
  }
}

/// The cables at an accessory's port, of which the first can be unplugged.
private final class ScenarioCables {
  var onCable: () -> Void = {}
  private var random: SeededRandom
  private weak var cable: SeverableChannel?

  init(on loop: any EventLoop) { random = loop.random.derived("line") }

  var hasCable: Bool { cable?.isOver == false }

  func wrap(_ bare: Cable, faults: [Fault], on loop: any EventLoop) -> Cable {
    let severable = SeverableChannel(around: bare.main, on: loop)
    // Keep only the cable of the first device, because the accessory refuses a second device.
    if !hasCable { cable = severable }
    onCable()
    return bare.wrapped(main: { _ in severable }, side: { $1 }).faulty(
      faults, random: { [unowned self] in SeededRandom(seed: random.next()) }, on: loop)
  }

  func pull() { cable?.pull() }
}
