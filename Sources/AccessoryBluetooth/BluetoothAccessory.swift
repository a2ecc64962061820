import AccessoryCore
import AccessoryTransports

/// This machine as a Bluetooth accessory: its service is published, its adapter is visible and pairable under the accessory's
/// name, and hosts connect; or it dials a host.
///
/// The service stays published while the accessory is unplugged, as in a flicker, so that a replug takes no registration;
/// hosts that connect meanwhile are turned away.
public final class BluetoothAccessory {
  /// What happens.
  public enum Event {
    /// A host is connected.
    case connected(DescriptorChannel, from: String)
    /// A problem that does not end it.
    case warning(String)
    /// It cannot be an accessory at all.
    case ended(BluetoothError)
  }

  private let blueZ: BlueZ
  private let selector: Address.BluetoothSelector
  private let name: String
  private var observer: BlueZ.Observer?
  private var service: OfferedService?
  private var agent: PairingAgent?
  private var settings: AdapterSettings?
  private var hear: ((Event) -> Void)?
  /// The connection in use, and the one that waits for its end: the other half of a collision.
  private var live: (device: String, channel: () -> DescriptorChannel?)?
  private var waiting: (device: String, BusDescriptor)?
  private var dial: RFCOMMDial?
  private var redial: LoopTimer?
  private var lastWarning: String?

  /// How long to wait between two attempts to reach a host.
  static var redialPause: Duration { .milliseconds(500) }

  /// Prepares an accessory that is not plugged in.
  ///
  /// - Parameter name: what others see when they scan.
  public init(_ selector: Address.BluetoothSelector, name: String, by blueZ: BlueZ) {
    self.selector = selector
    self.name = name
    self.blueZ = blueZ
  }

  deinit { stop() }

  /// Where it is: the adapter it uses, once that is known.
  public var adapter: BluetoothAdapter? { try? blueZ.adapter(named: selector.adapter) }

  /// Plugs in.
  public func plugIn(_ hear: @escaping (Event) -> Void) {
    self.hear = hear
    if observer == nil {
      observer = blueZ.observe { [unowned self] in handle($0) }
      blueZ.start()
    }
    if blueZ.state == .available { prepare() }
    dialHost()
  }

  /// Unplugs: hosts that connect are turned away. The owner of the connection in use closes it.
  public func unplug() {
    hear = nil
    waiting = nil
    dial?.cancel()
    dial = nil
    redial?.cancel()
  }

  /// Withdraws everything that was published, and restores the adapter's settings.
  public func stop() {
    unplug()
    service = nil
    agent = nil
    settings?.restore()
    settings = nil
    observer = nil
  }

  // MARK: - What is published

  private func handle(_ news: BlueZ.News) {
    switch news {
    case .available: prepare()
    case .unavailable(let reason):
      settings?.isShown = false
      warn("\(reason)")
    case .adapter(let adapter) where settings?.isShown != true && adapter.isPowered: prepare()
    case .adapter(let adapter) where settings?.adapter == adapter.path && !adapter.isPowered:
      settings?.isShown = false
      warn("\(BluetoothError.adapterOff(adapter.name))")
    default: break
    }
  }

  private func prepare() {
    guard hear != nil else { return }
    do {
      let adapter = try blueZ.adapter(named: selector.adapter)
      lastWarning = nil
      publish()
      if let settings, settings.adapter == adapter.path {
        settings.show(as: name)
      } else {
        settings?.restore()
        // They are restored when this is gone already.
        settings = AdapterSettings(of: adapter, by: blueZ) { [weak self] error in self?.warn("\(error)") }
        settings?.show(as: name)
      }
    } catch {
      warn("\(error)")
    }
  }

  private func publish() {
    if agent == nil {
      // Whoever pairs with an accessory presses no button on it. Without an agent BlueZ would refuse what needs a question.
      agent = PairingAgent(by: blueZ, at: "/easim/accessory/agent", capability: "NoInputNoOutput") {
        [unowned self] result in
        if case .failure(let error) = result { warn("pairing is left to other programs: \(error)") }
      } ask: { question in
        switch question {
        case .authorization(_, let answer), .confirmation(_, _, let answer): answer(true)
        case .service(_, let uuid, let answer): answer(uuid == AccessoryService.accessory)
        case .pin(_, let answer): answer("0000")
        case .passkey(_, let answer): answer(0)
        case .show, .cancelled: break
        }
      }
    }
    guard service == nil else { return }
    let channel = (11...30).first { blueZ.sockets.isFree(channel: $0) } ?? 11
    service = OfferedService(
      ServiceRecord(service: AccessoryService.accessory, channel: channel, name: "Wireless iAP"),
      at: "/easim/accessory", by: blueZ, isAccepting: { [unowned self] in hear != nil }
    ) { [unowned self] event in
      switch event {
      case .connected(let device, let descriptor): connected(device, descriptor)
      case .shallEnd(let device): if live?.device == device { live?.channel()?.hangUp() }
      case .registered: break
      case .failed(let error): failed(error)
      }
    }
  }

  private func failed(_ error: BluetoothError) {
    switch error {
    case .serviceTaken, .notPermitted:
      let hear = hear
      unplug()
      hear?(.ended(error))
    default: warn("\(error)")
    }
  }

  private func warn(_ text: String) {
    guard text != lastWarning else { return }
    lastWarning = text
    hear?(.warning(text))
  }

  // MARK: - Connections

  private func connected(_ device: String, _ descriptor: BusDescriptor) {
    // On another adapter than the one that was asked for the record is published as well.
    if let adapter = selector.adapter, BlueZPath.last(BlueZPath.parent(device)) != adapter { return }
    take(device, descriptor)
  }

  private func take(_ device: String, _ descriptor: BusDescriptor) {
    guard let hear else { return }
    if live?.channel() != nil {
      waiting = (device, descriptor)
      return
    }
    guard let channel = DescriptorChannel(descriptor, on: blueZ.loop) else { return }
    dial?.cancel()
    dial = nil
    redial?.cancel()
    live = (device, { [weak channel] in channel })
    channel.whenOver = { [weak self] in self?.liveEnded() }
    hear(.connected(channel, from: title(of: device)))
  }

  private func liveEnded() {
    live = nil
    // In a later turn: the owner of the ended connection must know of its end first.
    redial = blueZ.loop.schedule(after: .zero) { [unowned self] in
      if let (device, descriptor) = waiting {
        waiting = nil
        if !descriptor.hasHungUp { return take(device, descriptor) }
      }
      redialLater()
    }
  }

  private func title(of path: String) -> String {
    let device = blueZ.devices.first { $0.path == path }
    return device.map { "\($0.title) (\($0.address)) by Bluetooth" } ?? "a host by Bluetooth"
  }

  private func redialLater() {
    guard selector.dials != nil, hear != nil else { return }
    redial = blueZ.loop.schedule(after: Self.redialPause) { [unowned self] in dialHost() }
  }

  private func dialHost() {
    guard let host = selector.dials, hear != nil, dial == nil, live?.channel() == nil else { return }
    guard let adapter else { return redialLater() }
    let path = "\(adapter.path)/dev_" + host.description.split(separator: ":").joined(separator: "_")
    dial = RFCOMMDial(
      to: AccessoryService.device, of: host, from: adapter.address, by: blueZ.sockets, on: blueZ.loop
    ) { [unowned self] result in
      dial = nil
      switch result {
      case .success(let descriptor): take(path, descriptor)
      case .failure(let error):
        warn("cannot dial \(host): \(error)")
        redialLater()
      }
    }
  }
}

/// The settings of an adapter while it is an accessory: visible and pairable under the accessory's name.
///
/// Kept while the adapter is off and while BlueZ is restarted, because BlueZ remembers the name: what it says of the adapter
/// then is no longer what was found at first.
final class AdapterSettings {
  /// Whether the adapter has them now; false after it was off, or BlueZ was.
  var isShown = false
  /// The adapter's object.
  let adapter: String
  private let before: BluetoothAdapter
  private let blueZ: BlueZ
  private let failed: (BluetoothError) -> Void

  init(of adapter: BluetoothAdapter, by blueZ: BlueZ, failed: @escaping (BluetoothError) -> Void) {
    self.adapter = adapter.path
    before = adapter
    self.blueZ = blueZ
    self.failed = failed
  }

  /// Makes the adapter visible and pairable until ``restore()``.
  func show(as name: String) {
    guard !isShown else { return }
    isShown = true
    set("Alias", .string(name))
    set("Pairable", .bool(true))
    // Before the other: it counts from the moment when an adapter becomes discoverable.
    set("DiscoverableTimeout", .uint32(0))
    set("Discoverable", .bool(true))
  }

  /// Makes it what it was.
  func restore() {
    set("Discoverable", .bool(before.isDiscoverable))
    set("DiscoverableTimeout", .uint32(before.discoverableTimeout))
    set("Pairable", .bool(before.isPairable))
    set("Alias", .string(before.alias))
  }

  private func set(_ name: String, _ value: BusValue) {
    let failed = failed
    blueZ.set(adapter, BluetoothObjects.adapterInterface, name, value) { result in
      if case .failure(let error) = result { failed(error) }
    }
  }
}
