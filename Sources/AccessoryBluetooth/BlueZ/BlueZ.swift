import AccessoryCore

/// A connection to BlueZ, the Bluetooth service of Linux: reports adapters and devices as they change, calls BlueZ with typed
/// errors, and offers services. Everything on a loop shares one, because BlueZ gives a service to one D-Bus client.
///
/// When BlueZ is restarted, adapters and devices vanish and come back, and services are registered again.
///
/// ```swift
/// let blueZ = BlueZ(on: loop)
/// let observer = blueZ.observe { news in print(news) }
/// blueZ.start()
/// ```
public final class BlueZ {
  /// What an observer hears.
  public enum News: Equatable, Sendable {
    /// The service answers. Its adapters and devices were reported before this.
    case available
    /// The service does not answer, for this reason. Its adapters and devices were reported as gone.
    case unavailable(BluetoothError)
    /// An adapter was added or has changed.
    case adapter(BluetoothAdapter)
    /// An adapter was removed.
    case adapterGone(BluetoothAdapter)
    /// A device was added.
    case deviceFound(BluetoothDevice)
    /// A device has changed; the second value is its former state.
    case device(BluetoothDevice, from: BluetoothDevice)
    /// A device was removed.
    case deviceGone(BluetoothDevice)
  }

  /// Receives news until it is released.
  public final class Observer {
    fileprivate let onEvent: (News) -> Void

    fileprivate init(_ onEvent: @escaping (News) -> Void) {
      self.onEvent = onEvent
    }
  }

  /// The state of the connection to the service.
  public enum State: Equatable, Sendable {
    /// Not started, or the first answer has not come.
    case starting
    /// The service answers.
    case available
    /// The service does not answer, for this reason.
    case unavailable(BluetoothError)
  }

  static let service = "org.bluez"
  private static let managerInterface = "org.freedesktop.DBus.ObjectManager"
  private static let propertiesInterface = "org.freedesktop.DBus.Properties"

  /// The state of the connection to the service.
  public private(set) var state = State.starting
  /// The kernel's sockets, or those of a test.
  public let sockets: any BluetoothSockets
  /// The loop of this connection.
  public let loop: any PollingLoop

  private let place: MessageBus.Place
  private(set) var bus: MessageBus?
  /// The service's own name on the bus, such as `:1.5`; empty while it has none.
  private(set) var owner = ""
  private var objects = BluetoothObjects()
  private var observers: [() -> Observer?] = []
  private var retry: LoopTimer?

  /// How long to wait after the bus has ended before connecting again.
  private static var busPause: Duration { .seconds(1) }

  /// Creates a connection; ``start()`` starts it.
  ///
  /// - Parameters:
  ///   - place: which bus; tests have their own.
  ///   - sockets: where connections come from; tests have their own.
  public init(
    _ place: MessageBus.Place = .system, on loop: any PollingLoop, sockets: any BluetoothSockets = KernelSockets()
  ) {
    self.place = place
    self.loop = loop
    self.sockets = sockets
  }

  deinit { retry?.cancel() }

  // MARK: - What is there

  /// The adapters, by name.
  public var adapters: [BluetoothAdapter] { objects.adapters.values.sorted { $0.path < $1.path } }

  /// The devices, by path.
  public var devices: [BluetoothDevice] { objects.devices.values.sorted { $0.path < $1.path } }

  /// The adapter with a name, or the first that is on.
  ///
  /// - Throws: ``BluetoothError`` that says what to do.
  public func adapter(named name: String?) throws(BluetoothError) -> BluetoothAdapter {
    if case .unavailable(let reason) = state { throw reason }
    let meant = adapters.filter { (name ?? $0.name) == $0.name }
    guard let first = meant.first else { throw .noAdapter(name) }
    guard let on = meant.first(where: \.isPowered) else { throw .adapterOff(first.name) }
    return on
  }

  /// Receives all news from now on, until the result is released.
  public func observe(_ onEvent: @escaping (News) -> Void) -> Observer {
    let observer = Observer(onEvent)
    observers.append { [weak observer] in observer }
    return observer
  }

  private func tell(_ news: News) {
    observers.removeAll { $0() == nil }
    for observer in observers { observer()?.onEvent(news) }
  }

  /// Returns the adapters and devices of now, and blocks until the answer comes: for a command that prints them and exits.
  public static func look(
    _ place: MessageBus.Place = .system
  ) throws(BluetoothError) -> (
    adapters: [BluetoothAdapter], devices: [BluetoothDevice]
  ) {
    do {
      let answer = try MessageBus.callAndWait(place, service, "/", managerInterface, "GetManagedObjects")
      var objects = BluetoothObjects()
      _ = objects.replace(with: answer)
      return (
        objects.adapters.values.sorted { $0.path < $1.path }, objects.devices.values.sorted { $0.path < $1.path }
      )
    } catch {
      throw BluetoothError(error)
    }
  }

  // MARK: - The connection

  /// Connects, and reports adapters and devices in later turns. Starting twice does nothing.
  public func start() {
    guard bus == nil else { return }
    do throws(BusError) {
      let bus = try MessageBus(place, on: loop) { [weak self] error in self?.busEnded(error) }
      let objectsRule = "type='signal',sender='\(Self.service)',interface='\(Self.managerInterface)'"
      let propertiesRule = "type='signal',sender='\(Self.service)',interface='\(Self.propertiesInterface)'"
      // Weak, because the handler of one signal may release this object before the next signal is delivered.
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
    retry = loop.schedule(after: Self.busPause) { [unowned self] in start() }
  }

  private func ownerChanged(_ signal: BusSignal) {
    guard signal.values.count == 3, let before = signal.values[1].text, let owner = signal.values[2].text else {
      return
    }
    // If a new service takes over the name from the old one, this is one signal, and the registrations are gone as well.
    if !before.isEmpty { becomeUnavailable(.noService) }
    self.owner = owner
    if !owner.isEmpty { load() }
  }

  private func becomeUnavailable(_ reason: BluetoothError) {
    guard state != .unavailable(reason) else { return }
    state = .unavailable(reason)
    for change in objects.removeAll() { tell(News(change)) }
    tell(.unavailable(reason))
  }

  private func load() {
    // This is answered before the next call. If that call has to start the service, a signal brings the name.
    let daemon = "org.freedesktop.DBus"
    bus?.call(daemon, "/org/freedesktop/DBus", daemon, "GetNameOwner", [.string(Self.service)]) { [weak self] answer in
      if case .success(let values) = answer { self?.owner = values.first?.text ?? "" }
    }
    bus?.call(Self.service, "/", Self.managerInterface, "GetManagedObjects") { [weak self] answer in
      guard let self else { return }
      switch answer {
      case .success(let values):
        let changes = objects.replace(with: values)
        let wasAvailable = state == .available
        state = .available
        for change in changes { tell(News(change)) }
        if !wasAvailable { tell(.available) }
      case .failure(let error): becomeUnavailable(BluetoothError(error))
      }
    }
  }

  private func changed(_ signal: BusSignal) {
    guard state == .available else { return }
    for change in objects.handle(signal) { tell(News(change)) }
  }

  // MARK: - Calls

  /// Calls a method of one of BlueZ's objects.
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

  /// Changes a property of an adapter or a device.
  func set(
    _ path: String, _ interface: String, _ name: String, _ value: BusValue,
    completion: @escaping (Result<Void, BluetoothError>) -> Void = { _ in }
  ) {
    call(path, Self.propertiesInterface, "Set", [.string(interface), .string(name), .variant(value)]) {
      completion($0.map { _ in })
    }
  }

  /// The adapter in a path below `/org/bluez`.
  private static func adapterName(_ path: String) -> String? {
    path.split(separator: "/").dropFirst(2).first.map(String.init)
  }
}

extension BlueZ.News {
  init(_ change: BluetoothObjects.Change) {
    switch change {
    case .adapter(let adapter): self = .adapter(adapter)
    case .adapterGone(let adapter): self = .adapterGone(adapter)
    case .deviceFound(let device): self = .deviceFound(device)
    case .device(let device, let before): self = .device(device, from: before)
    case .deviceGone(let device): self = .deviceGone(device)
    }
  }
}
