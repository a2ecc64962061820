import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessoryWorlds
import Certificates
import LinuxIO

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
