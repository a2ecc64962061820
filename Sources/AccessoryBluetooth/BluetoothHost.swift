import AccessoryCore
import LinuxIO

/// The Apple device's side of Bluetooth. Lists paired accessories, connects to them, and accepts connections from them.
///
/// If both sides connect at the same time, the host keeps the first connection and closes the second. The accessory
/// keeps both connections open until one of them ends, so both sides eventually use the connection that the host has
/// kept. When a device connects, the host emits ``BlueZ/Event/device(_:from:)`` and keeps the connection until
/// ``connect(to:completion:)`` is called.
package final class BluetoothHost {
  package static var attemptLimit: Duration { RFCOMMDial.timeout }

  /// How long to keep an accessory's connection if ``connect(to:completion:)`` is not called.
  static var patience: Duration { .seconds(30) }

  package let blueZ: BlueZ
  private var service: OfferedService?
  /// The current connections, by device path. `isMadeByDevice` is true if the device opened the connection.
  private var live: [String: (isMadeByDevice: Bool, channel: () -> DescriptorChannel?)] = [:]
  /// Connections that were opened by accessories and are kept for ``connect(to:completion:)``.
  private var waiting: [String: (BusDescriptor, LoopTimer)] = [:]
  private var attempts: [String: Attempt] = [:]

  private final class Attempt: Connecting {
    weak var host: BluetoothHost?
    let path: String
    var dial: RFCOMMDial?
    var answer: LoopTimer?
    let completion: (Result<DescriptorChannel, BluetoothError>) -> Void

    init(
      _ host: BluetoothHost, _ path: String, completion: @escaping (Result<DescriptorChannel, BluetoothError>) -> Void
    ) {
      self.host = host
      self.path = path
      self.completion = completion
    }

    func cancel() {
      dial?.cancel()
      answer?.cancel()
      if host?.attempts[path] === self { host?.attempts[path] = nil }
    }
  }

  /// Creates a host that runs on the loop of `blueZ`. All objects on a loop share one host, because BlueZ does not let
  /// two clients offer the same service.
  package init(_ blueZ: BlueZ) {
    self.blueZ = blueZ
  }

  deinit {
    for (_, timer) in waiting.values { timer.cancel() }
    for attempt in attempts.values { attempt.cancel() }
  }

  package func start() {
    blueZ.start()
    guard service == nil else { return }
    service = OfferedService(
      AccessoryService.device, fromChannel: 12, at: "/easim/device", by: blueZ
    ) { [unowned self] event in
      switch event {
      case .connected(let path, let descriptor): accept(path, descriptor)
      case .closeRequested(let path): live[path]?.channel()?.hangUp()
      case .failed(let error): blueZ.emit(.cannotAccept(error))
      }
    }
  }

  // MARK: - Connections

  /// Connects to a device, or uses a connection that the device has already opened.
  ///
  /// - Parameter completion: called once, in a later turn of the loop, unless the attempt is cancelled.
  package func connect(
    to device: BluetoothDevice, completion: @escaping (Result<DescriptorChannel, BluetoothError>) -> Void
  ) -> any Connecting {
    let attempt = Attempt(self, device.path, completion: completion)
    // Two addresses can refer to the same device, and a device has only one connection.
    if attempts[device.path] != nil {
      attempt.answer = blueZ.loop.schedule(after: .zero) {
        completion(.failure(.failed("another connection to it is already being opened")))
      }
      return attempt
    }
    attempts[device.path] = attempt
    if let (descriptor, timer) = waiting.removeValue(forKey: device.path), !descriptor.hasHungUp {
      timer.cancel()
      attempt.answer = blueZ.loop.schedule(after: .zero) { [unowned self] in
        finish(attempt, .success(descriptor), isMadeByDevice: true)
      }
      return attempt
    }
    let local = blueZ.objects.adapters[device.adapterPath]?.address ?? BluetoothDeviceAddress(0)
    attempt.dial = RFCOMMDial(
      to: AccessoryService.accessory, of: device.address, from: local, by: blueZ.sockets, on: blueZ.loop
    ) { [unowned self] result in finish(attempt, result) }
    return attempt
  }

  private func finish(
    _ attempt: Attempt, _ result: Result<BusDescriptor, BluetoothError>, isMadeByDevice: Bool = false
  ) {
    guard attempts[attempt.path] === attempt else { return }
    attempts[attempt.path] = nil
    attempt.dial?.cancel()
    switch result {
    case .success(let descriptor):
      guard let channel = DescriptorChannel(descriptor, on: blueZ.loop) else {
        return attempt.completion(.failure(.failed("the connection was taken")))
      }
      live[attempt.path] = (isMadeByDevice, { [weak channel] in channel })
      channel.whenOver = { [weak self] in self?.live[attempt.path] = nil }
      attempt.completion(.success(channel))
    case .failure(let error): attempt.completion(.failure(error))
    }
  }

  private func accept(_ path: String, _ descriptor: BusDescriptor) {
    if let (isMadeByDevice, channel) = live[path], let channel = channel() {
      // If each side opened a connection, the first one is kept. The second connection is closed by releasing its
      // descriptor.
      guard isMadeByDevice else { return }
      // An accessory has only one connection, so any earlier one is dead, even if the kernel has not noticed yet.
      channel.hangUp()
    }
    if let attempt = attempts[path] { return finish(attempt, .success(descriptor), isMadeByDevice: true) }
    guard let device = blueZ.devices.first(where: { $0.path == path }) else { return }
    let timer = blueZ.loop.schedule(after: Self.patience) { [weak self] in self?.waiting[path] = nil }
    waiting.updateValue((descriptor, timer), forKey: path)?.1.cancel()
    blueZ.emit(.device(device, from: device))
  }
}
