import AccessoryCore
import AccessoryTransports

/// The Apple device's side of Bluetooth: knows the paired accessories, dials them, and takes the calls of those that dial.
///
/// When both dial at the same time the first connection wins and the other is closed. The accessory keeps both until one of
/// them ends, so both sides stay with the same one.
public final class BluetoothHost {
  /// What happens.
  public enum Event {
    /// An accessory is known now.
    case arrived(BluetoothDevice)
    /// It has changed, or has dialled and waits for ``connect(to:completion:)``.
    case changed(BluetoothDevice, from: BluetoothDevice)
    /// It is no longer known.
    case left(BluetoothDevice)
    /// Bluetooth cannot be used for now, or can again when nil.
    case trouble(BluetoothError?)
    /// Accessories cannot dial this process, for this reason; it can still dial them.
    case cannotBeDialled(BluetoothError)
  }

  /// Hears events until it is dropped.
  public final class Observer {
    fileprivate let hear: (Event) -> Void

    fileprivate init(_ hear: @escaping (Event) -> Void) { self.hear = hear }
  }

  /// How long one attempt to connect may take.
  public static var attemptLimit: Duration { RFCOMMDial.timeout }

  /// The longest that a connection of an accessory waits to be wanted.
  static var patience: Duration { .seconds(30) }

  /// BlueZ, as this loop's programs share it.
  public let blueZ: BlueZ
  private var blueZObserver: BlueZ.Observer?
  private var service: OfferedService?
  private var observers: [() -> Observer?] = []
  /// The connections in use, by the device's path.
  private var live: [String: () -> DescriptorChannel?] = [:]
  /// Connections of accessories that dialled and are not wanted yet.
  private var waiting: [String: (BusDescriptor, LoopTimer)] = [:]
  private var attempts: [String: Attempt] = [:]

  /// One attempt to get a connection, by dialling or by being dialled.
  private final class Attempt: Connecting {
    weak var host: BluetoothHost?
    let path: String
    var dial: RFCOMMDial?
    var answer: LoopTimer?

    init(_ host: BluetoothHost, _ path: String) {
      self.host = host
      self.path = path
    }

    func cancel() {
      dial?.cancel()
      answer?.cancel()
      if host?.attempts[path] === self { host?.attempts[path] = nil }
    }

    var completion: (Result<DescriptorChannel, BluetoothError>) -> Void = { _ in }
  }

  /// The host's side on a loop. BlueZ gives a service to one process, and a loop's programs share it.
  public init(_ blueZ: BlueZ) {
    self.blueZ = blueZ
    blueZObserver = blueZ.observe { [unowned self] in handle($0) }
  }

  deinit {
    for (_, timer) in waiting.values { timer.cancel() }
    for attempt in attempts.values { attempt.cancel() }
  }

  /// Begins. Starting twice does nothing.
  public func start() {
    blueZ.start()
    guard service == nil else { return }
    service = OfferedService(
      ServiceRecord(service: AccessoryService.device, channel: freeChannel(from: 12), name: "Wireless iAP"),
      at: "/easim/device", by: blueZ
    ) { [unowned self] event in
      switch event {
      case .connected(let path, let descriptor): dialled(path, descriptor)
      case .shallEnd(let path): live[path]?()?.hangUp()
      case .registered: break
      case .failed(let error): tell(.cannotBeDialled(error))
      }
    }
  }

  private func freeChannel(from first: UInt8) -> UInt8 {
    (first...30).first { blueZ.sockets.isFree(channel: $0) } ?? first
  }

  /// Hears all events from now on, until the result is dropped.
  public func observe(_ hear: @escaping (Event) -> Void) -> Observer {
    let observer = Observer(hear)
    observers.append { [weak observer] in observer }
    return observer
  }

  private func tell(_ event: Event) {
    observers.removeAll { $0() == nil }
    for observer in observers { observer()?.hear(event) }
  }

  private func handle(_ news: BlueZ.News) {
    switch news {
    case .available: tell(.trouble(nil))
    case .unavailable(let reason): tell(.trouble(reason))
    case .adapter(let adapter):
      // Whether an accessory can be reached depends on its adapter too.
      for device in blueZ.devices where device.adapterPath == adapter.path { tell(.changed(device, from: device)) }
    case .adapterGone: break
    case .deviceFound(let device): tell(.arrived(device))
    case .device(let device, let before): tell(.changed(device, from: before))
    case .deviceGone(let device): tell(.left(device))
    }
  }

  /// Why a device cannot be connected to now; nil where it may be tried.
  public func obstacle(to device: BluetoothDevice) -> BluetoothError? {
    device.obstacle(adapter: blueZ.adapters.first { $0.path == device.adapterPath })
  }

  // MARK: - Connections

  /// Connects to a device, or takes the connection that it has made.
  ///
  /// - Parameter completion: called once, in a later turn, unless the attempt is cancelled.
  public func connect(
    to device: BluetoothDevice, completion: @escaping (Result<DescriptorChannel, BluetoothError>) -> Void
  ) -> any Connecting {
    let attempt = Attempt(self, device.path)
    attempt.completion = completion
    // Two addresses may mean one device, and it has one connection.
    if attempts[device.path] != nil {
      attempt.answer = blueZ.loop.schedule(after: .zero) {
        completion(.failure(.failed("another connection to it is being made")))
      }
      return attempt
    }
    attempts[device.path] = attempt
    if let (descriptor, timer) = waiting.removeValue(forKey: device.path), !descriptor.hasHungUp {
      timer.cancel()
      attempt.answer = blueZ.loop.schedule(after: .zero) { [unowned self] in finish(attempt, .success(descriptor)) }
      return attempt
    }
    let local = blueZ.adapters.first { $0.path == device.adapterPath }?.address ?? BluetoothDeviceAddress(bits: 0)
    attempt.dial = RFCOMMDial(
      to: AccessoryService.accessory, of: device.address, from: local, by: blueZ.sockets, on: blueZ.loop
    ) { [unowned self] result in finish(attempt, result) }
    return attempt
  }

  private func finish(_ attempt: Attempt, _ result: Result<BusDescriptor, BluetoothError>) {
    guard attempts[attempt.path] === attempt else { return }
    attempts[attempt.path] = nil
    attempt.dial?.cancel()
    switch result {
    case .success(let descriptor):
      guard let channel = DescriptorChannel(descriptor, on: blueZ.loop) else {
        return attempt.completion(.failure(.failed("the connection was taken")))
      }
      live[attempt.path] = { [weak channel] in channel }
      channel.whenOver = { [weak self] in self?.live[attempt.path] = nil }
      attempt.completion(.success(channel))
    case .failure(let error): attempt.completion(.failure(error))
    }
  }

  /// A device has dialled.
  private func dialled(_ path: String, _ descriptor: BusDescriptor) {
    // One link survives: the one that came first. Dropping the descriptor closes it.
    guard live[path]?() == nil else { return }
    if let attempt = attempts[path] { return finish(attempt, .success(descriptor)) }
    guard let device = blueZ.devices.first(where: { $0.path == path }) else { return }
    let timer = blueZ.loop.schedule(after: Self.patience) { [weak self] in self?.waiting[path] = nil }
    waiting.updateValue((descriptor, timer), forKey: path)?.1.cancel()
    tell(.changed(device, from: device))
  }
}
