import AccessoryCore

/// A connection to BlueZ, Linux's Bluetooth service. The connection reports changes to adapters and devices, calls
/// BlueZ's methods, and offers services. All objects on a loop share one connection, because BlueZ does not let two
/// D-Bus clients offer the same service.
///
/// When BlueZ restarts, adapters and devices disappear and reappear, and services are registered again.
///
/// ```swift
/// let blueZ = BlueZ(on: loop)
/// let observer = blueZ.observe { event in print(event) }
/// blueZ.start()
/// ```
package final class BlueZ {
  package enum Event: Equatable, Sendable {
    /// BlueZ has answered. The current adapters and devices have been reported.
    case available
    case unavailable(BluetoothError)
    case adapter(BluetoothAdapter)
    case adapterGone(BluetoothAdapter)
    case deviceFound(BluetoothDevice)
    /// A device has changed or connected. `from` is the previous state of the device.
    case device(BluetoothDevice, from: BluetoothDevice)
    case deviceGone(BluetoothDevice)
    /// Devices cannot connect to this machine's ``BluetoothHost``, but the host can connect to devices.
    case cannotAccept(BluetoothError)
  }

  package final class Observer {
    fileprivate let onEvent: (Event) -> Void

    fileprivate init(_ onEvent: @escaping (Event) -> Void) {
      self.onEvent = onEvent
    }
  }

  package enum State: Equatable, Sendable {
    /// The connection has not been started or is still waiting for the first answer.
    case starting
    case available
    case unavailable(BluetoothError)
  }

  static let service = "org.bluez"
  private static let managerInterface = "org.freedesktop.DBus.ObjectManager"
  private static let propertiesInterface = "org.freedesktop.DBus.Properties"

  package private(set) var state = State.starting
  package let sockets: any BluetoothSockets
  package let loop: any PollingLoop

  private let place: MessageBus.Place
  private(set) var bus: MessageBus?
  /// BlueZ's unique name on the bus, such as `:1.5`, or an empty string while BlueZ is not running.
  private(set) var owner = ""
  package private(set) var objects = BluetoothObjects()
  private var observers: [() -> Observer?] = []
  private var retry: LoopTimer?

  /// Creates a connection without starting it. Tests pass their own bus and sockets.
  package init(
    _ place: MessageBus.Place = .system, on loop: any PollingLoop, sockets: any BluetoothSockets = KernelSockets()
  ) {
    self.place = place
    self.loop = loop
    self.sockets = sockets
  }

  deinit { retry?.cancel() }

  // MARK: - Adapters and devices

  package var devices: [BluetoothDevice] { objects.deviceList }

  package func adapter(named name: String?) throws(BluetoothError) -> BluetoothAdapter {
    if case .unavailable(let reason) = state { throw reason }
    return try objects.adapter(named: name)
  }

  /// Delivers all further events until the returned observer is released.
  package func observe(_ onEvent: @escaping (Event) -> Void) -> Observer {
    let observer = Observer(onEvent)
    observers.append { [weak observer] in observer }
    return observer
  }

  func emit(_ event: Event) {
    observers.removeAll { $0() == nil }
    for observer in observers { observer()?.onEvent(event) }
  }

  /// Lists the current adapters and devices. This function blocks until the answer arrives, so use it only in a command
  /// that prints the list and exits.
  package static func look(_ place: MessageBus.Place = .system) throws(BluetoothError) -> BluetoothObjects {
    do {
      var objects = BluetoothObjects()
      _ = objects.replace(
        with: try MessageBus.callAndWait(place, service, "/", managerInterface, "GetManagedObjects"))
      return objects
    } catch {
      throw BluetoothError(error)
    }
  }

  // MARK: - The connection

  /// Connects to BlueZ. Adapters and devices are reported on later turns of the loop. Further calls have no effect.
  package func start() {
    guard bus == nil else { return }
    do throws(BusError) {
      let bus = try MessageBus(place, on: loop) { [weak self] error in self?.busEnded(error) }
      let objectsRule = "type='signal',sender='\(Self.service)',interface='\(Self.managerInterface)'"
      let propertiesRule = "type='signal',sender='\(Self.service)',interface='\(Self.propertiesInterface)'"
      // The reference is weak because the handler of one signal may release this object before the next signal arrives.
      try bus.onSignal(objectsRule) { [weak self] in self?.changed($0) }
      try bus.onSignal(propertiesRule) { [weak self] in self?.changed($0) }
      try bus.onSignal(
        "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.service)'"
      ) { [weak self] in self?.ownerChanged($0) }
      self.bus = bus
      load()
    } catch {
      loop.schedule(after: .zero) { [weak self] in self?.busEnded(error) }
    }
  }

  private func busEnded(_ error: BusError) {
    bus = nil
    becomeUnavailable(BluetoothError(error))
    retry = loop.schedule(after: .seconds(1)) { [unowned self] in start() }
  }

  private func ownerChanged(_ signal: BusSignal) {
    guard signal.values.count == 3, let before = signal.values[1].text, let owner = signal.values[2].text else {
      return
    }
    // If a new instance of BlueZ takes over the name, only one signal arrives, and the old instance's registrations are
    // lost.
    if !before.isEmpty { becomeUnavailable(.noService) }
    self.owner = owner
    if !owner.isEmpty { load() }
  }

  private func becomeUnavailable(_ reason: BluetoothError) {
    guard state != .unavailable(reason) else { return }
    state = .unavailable(reason)
    for event in objects.replace(with: []) { emit(event) }
    emit(.unavailable(reason))
  }

  private func load() {
    // The bus daemon answers GetNameOwner before BlueZ answers the next call. If BlueZ is started by the call after
    // GetNameOwner, a signal reports BlueZ's name.
    let daemon = "org.freedesktop.DBus"
    bus?.call(daemon, "/org/freedesktop/DBus", daemon, "GetNameOwner", [.string(Self.service)]) { [weak self] answer in
      if case .success(let values) = answer { self?.owner = values.first?.text ?? "" }
    }
    bus?.call(Self.service, "/", Self.managerInterface, "GetManagedObjects") { [weak self] answer in
      guard let self else { return }
      switch answer {
      case .success(let values):
        let events = objects.replace(with: values)
        let wasAvailable = state == .available
        state = .available
        for event in events { emit(event) }
        if !wasAvailable { emit(.available) }
      case .failure(let error): becomeUnavailable(BluetoothError(error))
      }
    }
  }

  private func changed(_ signal: BusSignal) {
    guard state == .available else { return }
    for event in objects.handle(signal) { emit(event) }
  }

  // MARK: - Calls

  func call(
    _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
    timeout: Duration = .seconds(25), completion: @escaping (Result<[BusValue], BluetoothError>) -> Void
  ) {
    guard let bus else {
      let reason: BluetoothError = if case .unavailable(let reason) = state { reason } else { .noService }
      loop.schedule(after: .zero) { completion(.failure(reason)) }
      return
    }
    bus.call(Self.service, path, interface, member, arguments, timeout: timeout) { answer in
      completion(answer.mapError { BluetoothError($0, adapter: Self.adapterName(path)) })
    }
  }

  /// Sets a property. BlueZ refuses to change a property while an earlier change, perhaps by another program, is in
  /// progress. A refused call is therefore retried for two seconds.
  func set(
    _ path: String, _ interface: String, _ name: String, _ value: BusValue, tries: Int = 20,
    completion: @escaping (Result<Void, BluetoothError>) -> Void = { _ in }
  ) {
    call(path, Self.propertiesInterface, "Set", [.string(interface), .string(name), .variant(value)]) { [weak self] in
      guard case .failure(.busy) = $0, tries > 1, let self else { return completion($0.map { _ in }) }
      loop.schedule(after: .milliseconds(100)) { [weak self] in
        self?.set(path, interface, name, value, tries: tries - 1, completion: completion)
      }
    }
  }

  /// Returns the name of the adapter that a path below `/org/bluez` belongs to.
  private static func adapterName(_ path: String) -> String? {
    path.split(separator: "/").dropFirst(2).first.map(String.init)
  }
}
