import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import Certificates

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
  private let ports: [String: ScenarioPort]
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
    let wrapped = zip(scenario.accessories, ports).map { ($0.name, ScenarioPort($1, faults: faults, on: loop)) }
    self.ports = Dictionary(wrapped, uniquingKeysWith: { first, _ in first })
    for part in scenario.accessories {
      guard let port = self.ports[part.name] else { continue }
      parts[part.name] = SimulatedAccessory(
        part.profile, at: port, authenticator: coprocessor(part.profile), on: loop, report: report)
      port.onCable = { [unowned self] in timeline.release() }
    }
  }

  /// Whether all steps have been performed and the wait after the last step is over.
  public var isOver: Bool { timeline.isOver }
  /// Whether a device is connected to a cable.
  public var hasDevice: Bool { ports.values.contains(where: \.hasCable) }
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
    guard let part = parts[name], let port = ports[name] else { return }
    let name = part.profile.identity.name
    report(TimelineEvent(time: loop.now, side: .cable, kind: .fault("the cable of \(name) is pulled")))
    port.pull()
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

/// A port that reports when a device connects. The cable at this port can be unplugged.
private final class ScenarioPort: Port {
  var onCable: () -> Void = {}
  private let inner: any Port
  private let faults: [Fault]
  private let loop: any EventLoop
  private var random: SeededRandom
  private weak var cable: SeverableChannel?

  init(_ inner: any Port, faults: [Fault], on loop: any EventLoop) {
    self.inner = inner
    self.faults = faults
    self.loop = loop
    random = loop.random.derived("line")
  }

  var place: String { inner.place }
  var hasCable: Bool { cable?.isOver == false }

  func show(_ appearance: PortAppearance) { inner.show(appearance) }

  func open(_ onEvent: @escaping (PortEvent) -> Void) throws {
    try inner.open { [unowned self] event in
      guard case .cable(let cable, let device) = event else { return onEvent(event) }
      let severable = SeverableChannel(around: cable.main, on: loop)
      // Keep only the cable of the first device, because the accessory refuses a second device.
      if !hasCable { self.cable = severable }
      onCable()
      let faulty = cable.wrapped(main: { _ in severable }, side: { $1 }).faulty(
        faults, random: { [unowned self] in SeededRandom(seed: random.next()) }, on: loop)
      onEvent(.cable(faulty, from: device))
    }
  }

  func close() { inner.close() }

  func pull() { cable?.pull() }
}
