import AccessoryBluetooth
import AccessoryCables
import AccessoryCore
import AccessoryProfiles
import LinuxIO

/// The Bluetooth medium for both roles. Hosts find paired accessories, and simulated accessories use one of this
/// machine's adapters.
final class BluetoothMedium: Medium {
  let kinds = [Address.Kind.bt]
  let capacity = PortCapacity.one
  let noticesPulledCables = true

  private let place: MessageBus.Place
  private let sockets: any BluetoothSockets
  /// The Bluetooth host for each loop. All finders on a loop share one host, because BlueZ does not let two D-Bus
  /// clients offer the same service.
  private let hosts = Locked<[ObjectIdentifier: Weak<BluetoothHost>]>([:])

  init(_ place: MessageBus.Place = .system, sockets: any BluetoothSockets = KernelSockets()) {
    self.place = place
    self.sockets = sockets
  }

  func makeFinder(
    for address: Address, on loop: any PollingLoop, options: TransportOptions
  ) throws -> any AccessoryFinder {
    BluetoothFinder(try Self.hostSelector(address), of: host(on: loop))
  }

  func look(at address: Address) throws -> Sighting? {
    let selector = try Self.hostSelector(address)
    do throws(BluetoothError) {
      let objects = try BlueZ.look(place)
      let shown = objects.deviceList.filter { $0.isShown(for: selector) }
      if shown.isEmpty { _ = try objects.adapter(named: selector.adapter) }
      return Sighting(
        accessories: shown.map { FoundAccessory($0, trouble: objects.obstacle(to: $0)) }, isRemembered: true)
    } catch {
      // The error is reported rather than thrown, so that a command that waits for an accessory also waits until the
      // problem is fixed.
      return Sighting(accessories: [], problems: ["\(TransportError(error, at: address))"])
    }
  }

  func openPorts(at address: Address, _ context: PortContext) throws -> PortFactory {
    let selector = Self.selector(address)
    if selector.device != nil {
      throw TransportError.unusable(
        address, "a simulated accessory uses an adapter of this machine; did you mean bt:\(selector.adapter ?? "")?")
    }
    let blueZ = BlueZ(place, on: context.loop, sockets: sockets)
    return { profile, _ in
      BluetoothPort(selector, BluetoothAccessory(selector, name: profile.identity.name, by: blueZ))
    }
  }

  private func host(on loop: any PollingLoop) -> BluetoothHost {
    hosts.withLock { hosts in
      hosts = hosts.filter { $0.value.object != nil }
      if let host = hosts[ObjectIdentifier(loop)]?.object { return host }
      let host = BluetoothHost(BlueZ(place, on: loop, sockets: sockets))
      hosts[ObjectIdentifier(loop)] = Weak(host)
      return host
    }
  }

  private static func selector(_ address: Address) -> Address.BluetoothSelector {
    guard case .bluetooth(let selector) = address else { preconditionFailure("\(address) is not on Bluetooth") }
    return selector
  }

  private static func hostSelector(_ address: Address) throws(TransportError) -> Address.BluetoothSelector {
    let selector = selector(address)
    if selector.dials != nil { throw .simulatorsOnly(address) }
    return selector
  }
}

private final class BluetoothFinder: AccessoryFinder {
  let seesArrivals = true
  // Paging a device that is out of range takes seconds, and no event tells when the device is back in range.
  let pauses = RedialPauses(shortest: .milliseconds(300), longest: .seconds(5))

  private let selector: Address.BluetoothSelector
  private let host: BluetoothHost
  private var observer: BlueZ.Observer?
  private var shown: [String: BluetoothDevice] = [:]
  private var onEvent: ((AccessoryChange) -> Void)?
  /// A placeholder that explains why no device is listed, either because Bluetooth cannot be used or because BlueZ does
  /// not know the device.
  private var absent: FoundAccessory?

  init(_ selector: Address.BluetoothSelector, of host: BluetoothHost) {
    self.selector = selector
    self.host = host
  }

  func start(_ onEvent: @escaping (AccessoryChange) -> Void) {
    self.onEvent = onEvent
    observer = host.blueZ.observe { [unowned self] in handle($0) }
    host.start()
    if host.blueZ.state == .available {
      for device in host.blueZ.devices { arrived(device) }
      showAbsent(nil)
    }
  }

  func stop() {
    observer = nil
    onEvent = nil
  }

  private func handle(_ event: BlueZ.Event) {
    switch event {
    case .available: showAbsent(nil)
    case .unavailable(let reason): showAbsent(reason)
    // When the state of an adapter changes, its accessories can become usable or unusable.
    case .adapter(let adapter):
      for device in shown.values where device.adapterPath == adapter.path { changed(device, from: device) }
    case .adapterGone: break
    case .deviceFound(let device): arrived(device)
    case .device(let device, let before): changed(device, from: before)
    case .deviceGone(let device):
      if shown.removeValue(forKey: device.path) != nil { onEvent?(.left(found(device), reason: "removed from BlueZ")) }
    case .cannotAccept(let error):
      onEvent?(.warning("accessories that connect on their own cannot reach this process: \(error)"))
    }
  }

  private func arrived(_ device: BluetoothDevice) {
    guard device.isShown(for: selector), shown[device.path] == nil else { return }
    shown[device.path] = device
    if host.blueZ.state == .available { showAbsent(nil) }
    onEvent?(.arrived(found(device)))
  }

  private func changed(_ device: BluetoothDevice, from before: BluetoothDevice) {
    guard shown[device.path] != nil else { return arrived(device) }
    shown[device.path] = device
    // A change that affects only the signal strength is not reported, because a scan causes many such changes.
    let (now, then) = (found(device), found(before))
    if now != then || device == before { onEvent?(.changed(now, from: then)) }
  }

  private func found(_ device: BluetoothDevice) -> FoundAccessory {
    FoundAccessory(device, trouble: host.blueZ.objects.obstacle(to: device))
  }

  /// Lists the placeholder if there is a `reason` or if the address names an unknown device. Otherwise, removes the
  /// placeholder.
  private func showAbsent(_ reason: BluetoothError?) {
    if let absent { onEvent?(.left(absent, reason: "")) }
    absent = nil
    let address = Address.bluetooth(selector)
    var trouble = reason.map { TransportError($0, at: address) }
    if trouble == nil, let device = selector.device, shown.isEmpty {
      trouble = TransportError(.notPaired("\(device)"), at: address)
    }
    guard let trouble else { return }
    var stand = FoundAccessory(key: "bt", identity: "bt", address: address)
    stand.trouble = trouble
    absent = stand
    onEvent?(.arrived(stand))
  }

  func connect(
    to accessory: FoundAccessory, completion: @escaping (Result<OpenedCable, TransportError>) -> Void
  ) throws(TransportError) -> any Connecting {
    if let trouble = accessory.trouble { throw trouble }
    let address = accessory.address
    guard let device = shown[accessory.key] else { throw .left(address) }
    return host.connect(to: device) { result in
      completion(result.map { OpenedCable(Cable(main: $0)) }.mapError { TransportError($0, at: address) })
    }
  }
}

/// A Bluetooth port on an adapter. Hosts can connect while the port is open. Releasing the port also withdraws the
/// service.
private final class BluetoothPort: Port {
  private let selector: Address.BluetoothSelector
  private let accessory: BluetoothAccessory

  init(_ selector: Address.BluetoothSelector, _ accessory: BluetoothAccessory) {
    self.selector = selector
    self.accessory = accessory
  }

  deinit { accessory.stop() }

  /// The port's address. Once the adapter is known, the port's address looks like "bt:hci0 (00:AA:01:00:00:42)".
  var place: String {
    accessory.adapter.map { "bt:\($0.name) (\($0.address))" } ?? "\(Address.bluetooth(selector))"
  }

  func open(_ onEvent: @escaping (PortEvent) -> Void) {
    accessory.plugIn { event in
      switch event {
      case .connected(let channel, let host): onEvent(.cable(Cable(main: channel), from: host))
      case .warning(let text): onEvent(.warning(text))
      case .ended(let error): onEvent(.ended("\(error)"))
      }
    }
  }

  func close() { accessory.unplug() }
}

extension BluetoothDevice {
  /// Returns true if hosts should list the device, either because it is an accessory or because the address names it.
  fileprivate func isShown(for selector: Address.BluetoothSelector) -> Bool {
    isMeant(by: selector) && (isAccessory || selector.device != nil)
  }
}

extension FoundAccessory {
  fileprivate init(_ device: BluetoothDevice, trouble: BluetoothError?) {
    let address = Address.bluetooth(.init(adapter: device.adapter, device: device.address))
    self.init(key: device.path, identity: device.address.description, address: address)
    name = device.title
    self.trouble = trouble.map { TransportError($0, at: address) }
  }
}

extension TransportError {
  fileprivate init(_ error: BluetoothError, at address: Address) {
    self =
      switch error {
      case .outOfRange: .nobodyThere(address, error.detail)
      case .timedOut: .timedOut(address, after: BluetoothHost.attemptLimit)
      case .notPermitted, .noService, .noLibrary, .noBus, .adapterOff, .noAdapter:
        .notPermitted(address, error.detail, fix: error.fix)
      case .serviceTaken, .notPaired: .unusable(address, error.description)
      // A device that offered the service when it was paired might offer it again.
      case .noSuchService, .refused, .busy, .failed: .failed(address, error.description)
      }
  }
}
