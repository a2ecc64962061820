import AccessoryCore
import LinuxIO

/// Makes this machine a Bluetooth accessory. Publishes the service, makes the adapter visible and pairable under the
/// accessory's name, and accepts connections from hosts or connects to a host.
///
/// The service stays published while the accessory is unplugged, so it does not have to be registered again. Hosts that
/// connect while the accessory is unplugged are disconnected.
package final class BluetoothAccessory {
  package enum Event {
    case connected(DescriptorChannel, from: String)
    case warning(String)
    /// The accessory cannot be plugged in, and easim has stopped trying.
    case ended(BluetoothError)
  }

  private struct Connection<Carrier> {
    var device: String
    var isMadeByHost: Bool
    var carrier: Carrier
  }

  private let blueZ: BlueZ
  private let selector: Address.BluetoothSelector
  private let name: String
  private var observer: BlueZ.Observer?
  private var service: OfferedService?
  private var agent: PairingAgent?
  private var settings: AdapterSettings?
  private var onEvent: ((Event) -> Void)?
  /// The current connection, and a newer one from the same host that waits until the current one ends.
  private var live: Connection<() -> DescriptorChannel?>?
  private var waiting: Connection<BusDescriptor>?
  private var dial: RFCOMMDial?
  private var redial: LoopTimer?
  private var lastWarning: String?

  static var redialPause: Duration { .milliseconds(500) }

  /// Creates an accessory that is not plugged in.
  ///
  /// - Parameter name: the name that other devices see when they scan.
  package init(_ selector: Address.BluetoothSelector, name: String, by blueZ: BlueZ) {
    self.selector = selector
    self.name = name
    self.blueZ = blueZ
  }

  deinit { stop() }

  /// The adapter in use, once it is known.
  package var adapter: BluetoothAdapter? { try? blueZ.adapter(named: selector.adapter) }

  package func plugIn(_ onEvent: @escaping (Event) -> Void) {
    self.onEvent = onEvent
    if observer == nil {
      observer = blueZ.observe { [unowned self] in handle($0) }
      blueZ.start()
    }
    if blueZ.state == .available { prepare() }
    dialHost()
  }

  /// Unplugs the accessory. Hosts that connect after this call are disconnected, but the current connection stays open
  /// until its owner closes it.
  package func unplug() {
    onEvent = nil
    waiting = nil
    dial?.cancel()
    dial = nil
    redial?.cancel()
  }

  /// Withdraws everything that this object has published and restores the adapter's settings.
  package func stop() {
    unplug()
    service = nil
    agent = nil
    settings?.restore()
    settings = nil
    observer = nil
  }

  // MARK: - Publishing

  private func handle(_ event: BlueZ.Event) {
    switch event {
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
    guard onEvent != nil else { return }
    do {
      let adapter = try blueZ.adapter(named: selector.adapter)
      lastWarning = nil
      publish()
      if let settings, settings.adapter == adapter.path {
        settings.show(as: name)
      } else {
        settings?.restore()
        // The reference is weak because the settings might be restored after this object has been released.
        settings = AdapterSettings(of: adapter, by: blueZ) { [weak self] error in self?.warn("\(error)") }
        settings?.show(as: name)
      }
    } catch {
      warn("\(error)")
    }
  }

  private func publish() {
    if agent == nil {
      // A simulated accessory has no user who could answer pairing questions, so this agent answers them. Without an
      // agent, BlueZ refuses any pairing that needs an answer.
      agent = PairingAgent(by: blueZ, at: "/easim/accessory/agent", capability: "NoInputNoOutput") {
        [unowned self] result in
        if case .failure(let error) = result {
          warn("easim cannot answer pairing requests and leaves them to other programs: \(error)")
        }
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
    service = OfferedService(
      AccessoryService.accessory, fromChannel: 11, at: "/easim/accessory", by: blueZ,
      isAccepting: { [unowned self] in onEvent != nil }
    ) { [unowned self] event in
      switch event {
      case .connected(let device, let descriptor): connected(device, descriptor)
      case .closeRequested(let device): if live?.device == device { live?.carrier()?.hangUp() }
      case .failed(let error): failed(error)
      }
    }
  }

  private func failed(_ error: BluetoothError) {
    switch error {
    case .serviceTaken, .notPermitted:
      let onEvent = onEvent
      unplug()
      onEvent?(.ended(error))
    default: warn("\(error)")
    }
  }

  private func warn(_ text: String) {
    guard text != lastWarning else { return }
    lastWarning = text
    onEvent?(.warning(text))
  }

  // MARK: - Connections

  private func connected(_ device: String, _ descriptor: BusDescriptor) {
    // BlueZ publishes the service record on all adapters. Releasing the descriptor of a connection on another adapter
    // closes that connection.
    if let adapter = selector.adapter, BlueZPath.last(BlueZPath.parent(device)) != adapter { return }
    take(Connection(device: device, isMadeByHost: true, carrier: descriptor))
  }

  private func take(_ new: Connection<BusDescriptor>) {
    guard let onEvent else { return }
    if let live, let channel = live.carrier() {
      // An accessory serves one host at a time. Releasing the descriptor of a second host disconnects that host.
      guard live.device == new.device else { return }
      waiting = new
      // A host has only one connection to a service. If the host connects again, its earlier connection is dead, even
      // if the kernel has not noticed yet. (A host whose radio is turned off with rfkill, for example, disappears
      // silently.) If each side opened a connection, both connections work, and only the first one is kept.
      if live.isMadeByHost == new.isMadeByHost { channel.hangUp() }
      return
    }
    guard let channel = DescriptorChannel(new.carrier, on: blueZ.loop) else { return }
    dial?.cancel()
    dial = nil
    redial?.cancel()
    live = Connection(device: new.device, isMadeByHost: new.isMadeByHost) { [weak channel] in channel }
    channel.whenOver = { [weak self] in self?.liveEnded() }
    onEvent(.connected(channel, from: title(of: new.device)))
  }

  private func liveEnded() {
    live = nil
    // The next connection is handled in a later turn of the loop, so that the owner of the ended one is notified first.
    redial = blueZ.loop.schedule(after: .zero) { [unowned self] in
      if let next = waiting {
        waiting = nil
        if !next.carrier.hasHungUp { return take(next) }
      }
      redialLater()
    }
  }

  private func title(of path: String) -> String {
    let device = blueZ.devices.first { $0.path == path }
    return device.map { "\($0.title) (\($0.address)) by Bluetooth" } ?? "a host by Bluetooth"
  }

  private func redialLater() {
    guard selector.dials != nil, onEvent != nil else { return }
    redial = blueZ.loop.schedule(after: Self.redialPause) { [unowned self] in dialHost() }
  }

  private func dialHost() {
    guard let host = selector.dials, onEvent != nil, dial == nil, live?.carrier() == nil else { return }
    guard let adapter else { return redialLater() }
    let path = "\(adapter.path)/dev_" + host.description.split(separator: ":").joined(separator: "_")
    dial = RFCOMMDial(
      to: AccessoryService.device, of: host, from: adapter.address, by: blueZ.sockets, on: blueZ.loop
    ) { [unowned self] result in
      dial = nil
      switch result {
      case .success(let descriptor):
        take(Connection(device: path, isMadeByHost: false, carrier: descriptor))
      case .failure(let error):
        warn("cannot dial \(host): \(error)")
        redialLater()
      }
    }
  }
}

/// Makes an adapter visible and pairable under the accessory's name, and later restores the adapter's settings.
///
/// The original settings are kept even while the adapter is off and while BlueZ restarts. Reading the settings again
/// would be wrong, because BlueZ remembers the accessory's name.
final class AdapterSettings {
  /// Whether the accessory's settings are in effect. The settings last until the adapter is turned off or BlueZ
  /// restarts.
  var isShown = false
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

  /// Makes the adapter visible and pairable until ``restore()`` is called.
  func show(as name: String) {
    guard !isShown else { return }
    isShown = true
    set("Alias", .string(name))
    set("Pairable", .bool(true))
    // DiscoverableTimeout must be set before Discoverable, because the timeout starts when the adapter becomes
    // discoverable.
    set("DiscoverableTimeout", .uint32(0))
    set("Discoverable", .bool(true))
  }

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
