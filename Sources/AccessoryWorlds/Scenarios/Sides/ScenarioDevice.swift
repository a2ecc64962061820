import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessoryTransports
import Certificates

/// The device's end of a scenario in a process of its own: plays what happens to the device and the app, while another
/// process plays the accessories (``ScenarioAccessories``), and compares what the app saw with what was expected.
///
/// Time stops at the first plug-in until there is a cable.
///
/// ```swift
/// let side = ScenarioDevice(scenario, client: SoundClient.self, authenticator: verifier, on: loop) { print($0.json) }
/// try side.start { device, index in try media.makeDialer(to: addresses[index], for: device, on: loop, wrap: { side.wrap($0) }) }
/// loop.run(until: { side.isOver })
/// side.comparison.difference
/// ```
public final class ScenarioDevice {
  /// What is played.
  public let scenario: Scenario
  /// The device.
  public let device: Device

  private let app: ScenarioApp
  private let other: ScenarioApp
  private let log: Log
  private let loop: any EventLoop
  private var dialers: [Dialer] = []
  private var dial: (Device, Int) throws -> Dialer? = { _, _ in nil }
  private var cables: [Weak] = []
  private lazy var timeline = ScenarioTimeline(scenario, holds: true, on: loop) { [unowned self] in perform($0) }

  private struct Weak {
    weak var channel: SeverableChannel?
    /// The accessory's index in the scenario, if each accessory has an address of its own.
    var accessory: Int?
  }

  private final class Log {
    var events: [TimelineEvent] = []
    var onCable: () -> Void = {}
    let report: (TimelineEvent) -> Void

    init(_ report: @escaping (TimelineEvent) -> Void) {
      self.report = report
    }

    func add(_ event: TimelineEvent) {
      events.append(event)
      report(event)
      if event.side == .device, case .attach = event.kind { onCable() }
    }
  }

  /// A device without cables, with the scenario's app on it.
  public init(
    _ scenario: Scenario, client: ScenarioClient.Type, authenticator: any DeviceAuthenticator, on loop: any EventLoop,
    report: @escaping (TimelineEvent) -> Void
  ) {
    self.scenario = scenario
    self.loop = loop
    let log = Log(report)
    self.log = log
    var settings = DeviceSettings(authenticator: authenticator)
    settings.policy = scenario.policy
    settings.authentication = scenario.authentication
    settings.flicker = scenario.deviceFlicker
    device = Device(settings: settings, on: loop) { log.add($0) }
    app = ScenarioApp(scenario, client: client, on: device) { log.add($0) }
    other = ScenarioApp(besideTheAppOf: scenario, on: device) { log.add($0) }
  }

  /// The app's client.
  public var client: ScenarioClient { app.client }
  /// Whether everything was played and the time after it has passed.
  public var isOver: Bool { timeline.isOver }
  /// Whether there was a cable, which starts the time of the scenario.
  public private(set) var hasBegun = false
  /// Why there is no cable, as far as that is known.
  public var trouble: TransportError? { dialers.compactMap(\.trouble).first }

  /// The comparison of what the app saw with what was expected, within the tolerance for two clocks.
  public var comparison: ScenarioComparison {
    ScenarioComparison(
      log.events, with: scenario, since: timeline.beginning, surprises: app.surprises, tolerance: .realTime)
  }

  /// Starts, and keeps the device connected with what `dial` creates for each accessory of the scenario, given its
  /// index; nil when an earlier dialer finds that accessory, too. `dial` is called again for an accessory whose cable
  /// was pulled unnoticed, because the old cable still counts as plugged in.
  public func start(_ dial: @escaping (Device, Int) throws -> Dialer?) throws {
    self.dial = dial
    log.onCable = { [unowned self] in
      hasBegun = true
      timeline.release()
    }
    timeline.start()
    for place in scenario.accessories.indices { try connect(place) }
  }

  private func connect(_ place: Int) throws {
    guard let dialer = try dial(device, place) else { return }
    dialers.append(dialer)
    try dialer.start()
  }

  /// Adds the scenario's faults to a cable of the accessory with this index, or of any accessory.
  public func wrap(_ cable: Cable, accessory: Int? = nil) -> Cable {
    let severable = SeverableChannel(around: cable.main, on: loop)
    cables.removeAll { $0.channel == nil }
    cables.append(Weak(channel: severable, accessory: accessory))
    let faults = scenario.faults.filter { $0.end == .device }.map(\.fault)
    let (loop, log) = (loop, log)
    return cable.wrapped(main: { _ in severable }, side: { $1 }).faulty(
      faults, random: { SeededRandom(seed: loop.random.next()) }, on: loop,
      report: { log.add(TimelineEvent(time: loop.now, side: .cable, kind: .fault($0.description))) })
  }

  /// Ends everything. The loop must still run a little for the other end to notice.
  public func tearDown() {
    for dialer in dialers { dialer.stop() }
    timeline.cancel()
    app.quit()
    other.quit()
    device.unplugAll("the scenario is over")
  }

  private func perform(_ action: Scenario.Action) {
    switch action {
    case .deviceResetsLink(let name):
      let part = scenario.accessories.first { $0.name == name }
      if let part { device.resetLinks(serial: part.profile.identity.serialNumber) }
    case .deviceSays(let name, let saying):
      if let part = scenario.accessories.first(where: { $0.name == name }) {
        device.say(saying.message, saying.parameters, toSerial: part.profile.identity.serialNumber)
      }
    case .deviceHeedsCables(let heeds): device.noticesCables = heeds
    case .cablePulledUnnoticed(let name): sever(name)
    case .app(let action): app.perform(action)
    case .sdk(let action): app.performSDK(action)
    case .otherApp(let action): other.perform(action)
    // The other process plays these.
    case .accessoryPlugsIn, .accessoryUnplugs, .accessoryClosesSessions, .accessoryForgetsSessions, .accessorySays,
      .cablePulled:
      break
    }
  }

  private func sever(_ name: String) {
    guard let place = scenario.accessories.firstIndex(where: { $0.name == name }) else { return }
    for cable in cables where cable.accessory == nil || cable.accessory == place { cable.channel?.sever() }
    do { try connect(place) } catch { preconditionFailure("what was dialled once can be dialled again: \(error)") }
  }
}
