import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessoryTransports
import Certificates

/// The device's end of a scenario in a process of its own: plays what happens to the device and the app, for accessories
/// that another process plays, see ``ScenarioAccessories``; and says how what the app saw compares with what was
/// expected.
///
/// Time stands still at the first plug-in until there is a cable.
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
  private let log: Log
  private let loop: any EventLoop
  private var dialers: [Dialer] = []
  private var dial: (Device, Int) throws -> Dialer? = { _, _ in nil }
  private var cables: [Weak] = []
  private lazy var timeline = ScenarioTimeline(scenario, holds: true, on: loop) { [unowned self] in perform($0) }

  private struct Weak {
    weak var channel: SeverableChannel?
    /// The accessory's place in the scenario, where each has an address of its own.
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
    settings.flicker = scenario.deviceFlicker
    device = Device(settings: settings, on: loop) { log.add($0) }
    app = ScenarioApp(scenario, client: client, on: device) { log.add($0) }
  }

  /// The app's client.
  public var client: ScenarioClient { app.client }
  /// Whether everything was played and the time after it has passed.
  public var isOver: Bool { timeline.isOver }
  /// Whether a cable was there, and with it the time of the scenario began to pass.
  public private(set) var hasBegun = false
  /// Why there is no cable, as far as that is known.
  public var trouble: TransportError? { dialers.compactMap(\.trouble).first }

  /// What the app saw against what was expected, within what two clocks allow.
  public var comparison: ScenarioComparison {
    ScenarioComparison(
      log.events, with: scenario, since: timeline.beginning, surprises: app.surprises, tolerance: .realTime)
  }

  /// Begins, and keeps the device connected by what `dial` makes for each accessory of the scenario, by its place there;
  /// nil where what was made before finds that accessory, too. It is asked again for an accessory whose cable was pulled
  /// unnoticed: the old cable still counts as plugged in.
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

  /// Puts the scenario's faults around a cable to the accessory with this place in the scenario, or to any of them.
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

  /// Ends what still goes on. The loop must still run a little for the other end to hear of it.
  public func tearDown() {
    for dialer in dialers { dialer.stop() }
    timeline.cancel()
    app.quit()
    device.unplugAll("done")
  }

  private func perform(_ action: Scenario.Action) {
    switch action {
    case .deviceResetsLink(let name):
      let part = scenario.accessories.first { $0.name == name }
      if let part { device.resetLinks(serial: part.profile.identity.serialNumber) }
    case .deviceHeedsCables(let heeds): device.noticesCables = heeds
    case .cablePulledUnnoticed(let name): sever(name)
    case .app(let action): app.perform(action)
    // The other process plays these.
    case .accessoryPlugsIn, .accessoryUnplugs, .accessoryClosesSessions, .cablePulled: break
    }
  }

  private func sever(_ name: String) {
    guard let place = scenario.accessories.firstIndex(where: { $0.name == name }) else { return }
    for cable in cables where cable.accessory == nil || cable.accessory == place { cable.channel?.sever() }
    do { try connect(place) } catch { preconditionFailure("what was dialled once can be dialled again: \(error)") }
  }
}
