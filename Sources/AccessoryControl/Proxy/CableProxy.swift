import AccessoryCables
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2
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
    // The dialer holds its owner, which is this proxy.
    dialer = nil
    port?.close()
    unplug("the proxy is exiting")
  }

  /// The counts so far, including the current connection.
  public var counts: Counts {
    var sum = past
    sum.fromAccessory += plugged?.cable.counts.accessory ?? 0
    sum.fromDevice += plugged?.cable.counts.device ?? 0
    return sum
  }

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
      cable: JoinedCable(cable.main, on: loop) { [unowned self] end, reason in
        if end == .device { log(.device, .detach("\(reason)")) }
        unplug(end == .device ? "the device disconnected" : "\(reason)")
      }, ended: ended)
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

  private func unplug(_ reason: String) {
    guard let plugged else { return }
    past = counts
    self.plugged = nil
    plugged.cable.close()
    port?.close()
    log(.accessory, .detach(reason))
    plugged.ended(CableOutcome(reason: reason, linkWasUp: plugged.cable.wasUp))
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

/// Passes bytes unchanged between the channels of an accessory and a device.
///
/// ```
///              received                       joined with a device              one end ends
///   waiting ──────────────▶ (bytes are held) ─────────────────────▶ joined ────────────────────▶ draining ──▶ over
/// ```
///
/// Until a device connects, the cable reads the accessory's bytes and holds them. By reading, the cable notices when
/// the accessory disconnects. Because the bytes are held, a device that connects later misses none of them. If several
/// detection sequences arrive, the cable holds only one, because the device would answer every one of them. If one side
/// closes normally, the other side receives the remaining bytes before it is closed. If one side is lost, the other
/// side is closed immediately.
///
/// Invariant: memory use is limited. At most one chunk waits in each direction, and no more than about ``mostHeld``
/// bytes wait for a device.
final class JoinedCable {
  /// When this many bytes are held, the cable stops reading from the accessory until a device connects.
  static let mostHeld = 65_536
  /// How long to keep waiting if the remaining bytes cannot be sent after one side has closed.
  static let closingTime = Duration.seconds(2)

  private let loop: any EventLoop
  private let accessory: Way
  private var device: Way?
  private var isOver = false
  private var closer: LoopTimer?
  private let ended: (Cable.End, ChannelEnd) -> Void

  private final class Way: ChannelHandler {
    let channel: any Channel
    let end: Cable.End
    weak var cable: JoinedCable?
    var unsent = ByteQueue()
    var received = 0
    private var isPaused = false

    init(_ channel: any Channel, _ end: Cable.End) { (self.channel, self.end) = (channel, end) }

    func pause(_ pauses: Bool) {
      guard pauses != isPaused else { return }
      isPaused = pauses
      if pauses { channel.pauseReading() } else { channel.resumeReading() }
    }

    func channel(_ channel: any Channel, received bytes: RawSpan) { cable?.received(bytes, self) }
    func channelIsWritable(_ channel: any Channel) { cable?.flush(self) }
    func channel(_ channel: any Channel, endedWith reason: ChannelEnd) { cable?.ended(self, reason) }
  }

  /// Starts receiving from the accessory. After both channels are closed, `ended` is called once with the side that
  /// closed first and the reason.
  init(_ accessory: any Channel, on loop: any EventLoop, ended: @escaping (Cable.End, ChannelEnd) -> Void) {
    (self.loop, self.ended) = (loop, ended)
    self.accessory = Way(accessory, .accessory)
    self.accessory.cable = self
    accessory.start(self.accessory)
  }

  var hasDevice: Bool { device != nil }
  var counts: (accessory: Int, device: Int) { (accessory.received, device?.received ?? 0) }
  /// Whether both ends have sent bytes.
  var wasUp: Bool { counts.accessory > 0 && counts.device > 0 }

  /// Connects the device's channel. The device receives the held bytes, and then everything else that the accessory
  /// sends.
  func join(_ channel: any Channel) {
    let way = Way(channel, .device)
    (way.cable, device) = (self, way)
    way.unsent = held
    held = ByteQueue()
    channel.start(way)
    flush(way)
  }

  /// Closes both channels without calling `ended`.
  func close() {
    guard !isOver else { return }
    isOver = true
    closer?.cancel()
    accessory.channel.close()
    device?.channel.close()
  }

  // MARK: Bytes

  /// The bytes that the accessory sent before a device connected.
  private var held = ByteQueue()

  private func received(_ bytes: RawSpan, _ from: Way) {
    // After one side has closed, further bytes are dropped.
    guard !isOver, closer == nil else { return }
    from.received += bytes.byteCount
    guard let device else { return hold(bytes) }
    let to = from === device ? accessory : device
    let taken = to.unsent.isEmpty ? to.channel.send(bytes) : 0
    guard taken < bytes.byteCount else { return }
    to.unsent.append(bytes.extracting(taken..<bytes.byteCount))
    from.pause(true)
  }

  private func hold(_ bytes: RawSpan) {
    held.append(bytes)
    let one = PacketWriter.detection
    while held.count >= 2 * one.count, held.copy(held.count - 2 * one.count..<held.count) == one + one {
      let rest = held.copy(0..<held.count - one.count)
      held.removeAll()
      held.append(contentsOf: rest)
    }
    if held.count >= Self.mostHeld { accessory.pause(true) }
  }

  private func flush(_ to: Way) {
    guard !isOver else { return }
    while !to.unsent.isEmpty {
      let taken = to.unsent.consume { to.channel.send($0) }
      if taken == 0 { return }
      if closer != nil { limitClosing(to) }
    }
    if closer != nil { return finish(to) }
    guard let device else { return }
    (to === device ? accessory : device).pause(false)
  }

  // MARK: The end

  private var firstEnd: (Cable.End, ChannelEnd)?

  private func ended(_ way: Way, _ reason: ChannelEnd) {
    guard !isOver else { return }
    if firstEnd == nil { firstEnd = (way.end, reason) }
    guard let device else { return over() }
    let other = way === device ? accessory : device
    if closer != nil || reason != .closedByPeer || other.unsent.isEmpty { return finish(other) }
    limitClosing(other)
    flush(other)
  }

  private func limitClosing(_ to: Way) {
    closer?.cancel()
    closer = loop.schedule(after: Self.closingTime) { [weak self] in self?.finish(to) }
  }

  private func finish(_ last: Way) {
    last.channel.close()
    over()
  }

  private func over() {
    guard !isOver, let firstEnd else { return }
    isOver = true
    closer?.cancel()
    ended(firstEnd.0, firstEnd.1)
  }
}
