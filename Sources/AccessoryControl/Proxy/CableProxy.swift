import AccessoryCables
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import LinuxIO

/// Relays bytes unchanged between an accessory and an Apple device. To the accessory, the proxy looks like a device; to
/// the device, the proxy looks like the accessory.
///
/// ```
///   device ──▶ port │ proxy │ dialer ──▶ accessory
/// ```
///
/// The proxy also relays plugging in and unplugging. The port is open while there is a cable to the accessory. When one
/// of the two cables is unplugged, the proxy unplugs the other one, and the dialer reconnects to the accessory.
///
/// ```swift
/// let proxy = CableProxy(on: loop, makePort: { _ in port }) { print($0.json) }
/// try proxy.start(media.makeDialer(to: accessory, for: proxy, on: loop, wanted: .one))
/// ```
public final class CableProxy: CableOwner {
  /// How many connections there were, and how many bytes each side sent.
  public struct Counts: Equatable, Sendable {
    /// How many times a device has connected to the accessory.
    public var attachments = 0
    /// The number of bytes that the accessory sent.
    public var fromAccessory = 0
    /// The number of bytes that the device sent.
    public var fromDevice = 0
  }

  private let loop: any EventLoop
  private let makePort: (FoundAccessory) throws -> any Port
  private let report: (TimelineEvent) -> Void
  private var dialer: Dialer?
  private var port: (any Port)?
  private var plugged: Plugged?
  private var past = Counts()
  private var refusals: ReportLimit?
  /// The reason devices can no longer connect, or nil while they can.
  public private(set) var failure: String?

  private struct Plugged {
    let cable: JoinedCable
    let ended: (CableOutcome) -> Void
  }

  /// Creates a proxy that has no connections yet.
  ///
  /// - Parameters:
  ///   - makePort: creates the port for devices once the proxy has found an accessory.
  ///   - report: called with each event on both sides.
  public init(
    on loop: any EventLoop, makePort: @escaping (FoundAccessory) throws -> any Port,
    report: @escaping (TimelineEvent) -> Void
  ) {
    (self.loop, self.makePort, self.report) = (loop, makePort, report)
    refusals = ReportLimit("warnings about devices that connect", on: loop) { [unowned self] in
      log(.device, .warning($0))
    }
  }

  /// Connects to the accessory with a dialer that this proxy owns.
  ///
  /// - Throws: an error if the medium cannot be used.
  public func start(_ dialer: Dialer) throws {
    self.dialer = dialer
    try dialer.start()
  }

  /// Disconnects both sides permanently.
  public func stop() {
    dialer?.stop()
    port?.close()
    unplug("the proxy is exiting")
  }

  /// The counts so far, including the current connection.
  public var counts: Counts { plugged.map { past.adding($0.cable) } ?? past }

  /// Whether there is a cable between the proxy and the accessory.
  public var hasAccessory: Bool { plugged != nil }

  /// Whether a device is connected to the accessory.
  public var hasDevice: Bool { plugged?.cable.hasDevice ?? false }

  /// The error from the last attempt to reach the accessory, or nil if there was none or the accessory is now
  /// connected.
  public var trouble: TransportError? { plugged == nil ? dialer?.trouble : nil }

  // MARK: The accessory

  /// Accepts the accessory's cable, and allows devices to connect.
  public func take(_ cable: Cable, of accessory: FoundAccessory, ended: @escaping (CableOutcome) -> Void) {
    guard plugged == nil, failure == nil else {
      cable.main.close()
      return ended(CableOutcome(reason: failure ?? "the proxy already has an accessory", linkWasUp: false))
    }
    // A socket does not reveal the accessory's name or serial number.
    let subject =
      accessory.name.isEmpty
      ? nil
      : TimelineEvent.Subject(
        name: accessory.name, serial: accessory.serial ?? "", protocols: accessory.protocols ?? [])
    log(.accessory, .attach("\(accessory.address)"), subject)
    plugged = Plugged(
      cable: JoinedCable(cable.main, on: loop) { [unowned self] end, reason in cableEnded(end, reason) }, ended: ended)
    do {
      let port = try port ?? makePort(accessory)
      self.port = port
      port.show(PortAppearance(Profile(appearanceOf: accessory), offering: accessory.protocols ?? []))
      try port.open { [unowned self] event in handle(event) }
    } catch { fail("\(error)") }
  }

  /// Handles a report from the dialer.
  public func handle(_ report: DialerReport) {
    switch report {
    case .trouble(let reason, _): log(.accessory, .warning("\(reason)"))
    case .droppedBytes(let count, let accessory):
      log(.accessory, .warning("dropped \(count.counted("byte")) of an earlier session from \(accessory.address)"))
    case .warning(let text): log(.accessory, .warning(text))
    }
  }

  private func cableEnded(_ end: Cable.End, _ reason: ChannelEnd) {
    if end == .device { log(.device, .detach("\(reason)")) }
    unplug(end == .device ? "the device disconnected" : "\(reason)")
  }

  private func unplug(_ reason: String) {
    guard let plugged else { return }
    self.plugged = nil
    let counts = plugged.cable.counts
    past = past.adding(plugged.cable)
    plugged.cable.close()
    port?.close()
    log(.accessory, .detach(reason))
    plugged.ended(CableOutcome(reason: reason, linkWasUp: counts.accessory > 0 && counts.device > 0))
  }

  private func fail(_ reason: String) {
    failure = reason
    unplug(reason)
  }

  // MARK: The device

  private func handle(_ event: PortEvent) {
    switch event {
    case .cable(let cable, let device):
      guard let joined = plugged?.cable, !joined.hasDevice else {
        refusals?.report("refused \(device): another device is already connected")
        return cable.main.close()
      }
      past.attachments += 1
      log(.device, .attach(port?.place ?? device))
      joined.join(cable.main)
    case .warning(let text): refusals?.report(text)
    case .ended(let why): fail(why)
    }
  }

  private func log(_ side: TimelineEvent.Side, _ kind: TimelineEvent.Kind, _ subject: TimelineEvent.Subject? = nil) {
    report(TimelineEvent(time: loop.now, side: side, kind: kind, subject: subject))
  }
}

extension CableProxy.Counts {
  fileprivate func adding(_ cable: JoinedCable) -> Self {
    var sum = self
    sum.fromAccessory += cable.counts.accessory
    sum.fromDevice += cable.counts.device
    return sum
  }
}

extension Profile {
  /// Creates an identity from what is known about an accessory before it identifies itself. Ports publish this
  /// identity: on a card in the local directory, in USB descriptors, or as a Bluetooth name.
  public init(appearanceOf accessory: FoundAccessory) {
    let name = accessory.name.isEmpty ? "\(accessory.address)" : accessory.name
    self.init(
      name: "proxy",
      identity: Identity(
        name: name, manufacturer: accessory.manufacturer ?? "unknown", modelNumber: accessory.model ?? "unknown",
        serialNumber: accessory.serial ?? "proxy"))
    // On USB, the model consists of the vendor ID and the product ID.
    let numbers = (accessory.model ?? "").split(separator: ":").map { UInt16($0, radix: 16) }
    if case .usb = accessory.address, numbers.count == 2, let vendor = numbers[0], let product = numbers[1] {
      (usb.vendor, usb.product) = (vendor, product)
    }
  }
}
