import AccessoryCore
import LinuxIO

/// Bluetooth for the Apple device's role: lists the paired accessories, connects to them, and accepts those that connect.
///
/// When both ends connect at the same time, this end keeps the first connection and closes the other. The accessory keeps both
/// until one ends, so both ends stay with the same one.
public final class BluetoothHost {
  /// What happens.
  public enum Event {
    /// A device was added.
    case arrived(BluetoothDevice)
    /// A device has changed, or has connected and waits for ``connect(to:completion:)``.
    case changed(BluetoothDevice, from: BluetoothDevice)
    /// A device was removed.
    case left(BluetoothDevice)
    /// Bluetooth cannot be used, for this reason; nil when it can be used again.
    case trouble(BluetoothError?)
    /// Accessories cannot connect to this process, for this reason; it can still connect to them.
    case cannotBeDialled(BluetoothError)
  }

  /// Receives events until it is released.
  public final class Observer {
    fileprivate let onEvent: (Event) -> Void

    fileprivate init(_ onEvent: @escaping (Event) -> Void) { self.onEvent = onEvent }
  }

  /// How long one attempt to connect may take.
  public static var attemptLimit: Duration { RFCOMMDial.timeout }

  /// How long a connection that an accessory made waits for ``connect(to:completion:)``.
  static var patience: Duration { .seconds(30) }

  /// The connection to BlueZ that everything on this loop shares.
  public let blueZ: BlueZ
  private var blueZObserver: BlueZ.Observer?
  private var service: OfferedService?
  private var observers: [() -> Observer?] = []
  /// The current connections by the device's path, and whether the device has made them.
  private var live: [String: (wasDialled: Bool, channel: () -> DescriptorChannel?)] = [:]
  /// Connections that accessories made, waiting for ``connect(to:completion:)``.
  private var waiting: [String: (BusDescriptor, LoopTimer)] = [:]
  private var attempts: [String: Attempt] = [:]

  /// One attempt to get a connection, made by either end.
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

  /// Creates the host's end on a loop. BlueZ gives a service to one process, so everything on a loop shares one.
  public init(_ blueZ: BlueZ) {
    self.blueZ = blueZ
    blueZObserver = blueZ.observe { [unowned self] in handle($0) }
  }

  deinit {
    for (_, timer) in waiting.values { timer.cancel() }
    for attempt in attempts.values { attempt.cancel() }
  }

  /// Starts. Starting twice does nothing.
  public func start() {
    blueZ.start()
    guard service == nil else { return }
    service = OfferedService(
      ServiceRecord(service: AccessoryService.device, channel: freeChannel(from: 12), name: "Wireless iAP"),
      at: "/easim/device", by: blueZ
    ) { [unowned self] event in
      switch event {
      case .connected(let path, let descriptor): dialled(path, descriptor)
      case .shallEnd(let path): live[path]?.channel()?.hangUp()
      case .registered: break
      case .failed(let error): tell(.cannotBeDialled(error))
      }
    }
  }

  private func freeChannel(from first: UInt8) -> UInt8 {
    (first...30).first { blueZ.sockets.isFree(channel: $0) } ?? first
  }

  /// Receives all events from now on, until the result is released.
  public func observe(_ onEvent: @escaping (Event) -> Void) -> Observer {
    let observer = Observer(onEvent)
    observers.append { [weak observer] in observer }
    return observer
  }

  private func tell(_ event: Event) {
    observers.removeAll { $0() == nil }
    for observer in observers { observer()?.onEvent(event) }
  }

  private func handle(_ news: BlueZ.News) {
    switch news {
    case .available: tell(.trouble(nil))
    case .unavailable(let reason): tell(.trouble(reason))
    case .adapter(let adapter):
      // A change of the adapter can make its accessories usable or unusable.
      for device in blueZ.devices where device.adapterPath == adapter.path { tell(.changed(device, from: device)) }
    case .adapterGone: break
    case .deviceFound(let device): tell(.arrived(device))
    case .device(let device, let before): tell(.changed(device, from: before))
    case .deviceGone(let device): tell(.left(device))
    }
  }

  /// Why this device cannot be connected to now; nil if an attempt makes sense.
  public func obstacle(to device: BluetoothDevice) -> BluetoothError? {
    device.obstacle(adapter: blueZ.adapters.first { $0.path == device.adapterPath })
  }

  // MARK: - Connections

  /// Connects to a device, or uses the connection that the device has made.
  ///
  /// - Parameter completion: called once, in a later turn, unless the attempt is cancelled.
  public func connect(
    to device: BluetoothDevice, completion: @escaping (Result<DescriptorChannel, BluetoothError>) -> Void
  ) -> any Connecting {
    let attempt = Attempt(self, device.path)
    attempt.completion = completion
    // Two addresses can name the same device, and a device has one connection.
    if attempts[device.path] != nil {
      attempt.answer = blueZ.loop.schedule(after: .zero) {
        completion(.failure(.failed("another connection to it is being opened")))
      }
      return attempt
    }
    attempts[device.path] = attempt
    if let (descriptor, timer) = waiting.removeValue(forKey: device.path), !descriptor.hasHungUp {
      timer.cancel()
      attempt.answer = blueZ.loop.schedule(after: .zero) { [unowned self] in
        finish(attempt, .success(descriptor), wasDialled: true)
      }
      return attempt
    }
    let local = blueZ.adapters.first { $0.path == device.adapterPath }?.address ?? BluetoothDeviceAddress(bits: 0)
    attempt.dial = RFCOMMDial(
      to: AccessoryService.accessory, of: device.address, from: local, by: blueZ.sockets, on: blueZ.loop
    ) { [unowned self] result in finish(attempt, result) }
    return attempt
  }

  private func finish(
    _ attempt: Attempt, _ result: Result<BusDescriptor, BluetoothError>, wasDialled: Bool = false
  ) {
    guard attempts[attempt.path] === attempt else { return }
    attempts[attempt.path] = nil
    attempt.dial?.cancel()
    switch result {
    case .success(let descriptor):
      guard let channel = DescriptorChannel(descriptor, on: blueZ.loop) else {
        return attempt.completion(.failure(.failed("the connection was taken")))
      }
      live[attempt.path] = (wasDialled, { [weak channel] in channel })
      channel.whenOver = { [weak self] in self?.live[attempt.path] = nil }
      attempt.completion(.success(channel))
    case .failure(let error): attempt.completion(.failure(error))
    }
  }

  /// A device has connected.
  private func dialled(_ path: String, _ descriptor: BusDescriptor) {
    if let (wasDialled, channel) = live[path], let channel = channel() {
      // If both ends have connected, the first connection stays. Releasing the descriptor closes the other.
      guard wasDialled else { return }
      // An accessory has one connection at a time, so its earlier one is dead and the kernel has not noticed.
      channel.hangUp()
    }
    if let attempt = attempts[path] { return finish(attempt, .success(descriptor), wasDialled: true) }
    guard let device = blueZ.devices.first(where: { $0.path == path }) else { return }
    let timer = blueZ.loop.schedule(after: Self.patience) { [weak self] in self?.waiting[path] = nil }
    waiting.updateValue((descriptor, timer), forKey: path)?.1.cancel()
    tell(.changed(device, from: device))
  }
}
