import AccessoryCore

/// Scans for devices. A scan that either reports every device, or pairs with one device as soon as it is found and
/// marks it as trusted.
///
/// The device is marked as trusted as soon as it is found. When a scan ends, BlueZ forgets any device that is neither
/// paired nor trusted, even if pairing is in progress.
package final class Pairing {
  package enum Event {
    case found(BluetoothDevice)
    case question(PairingAgent.Question)
    case begun(BluetoothDevice)
    case paired(BluetoothDevice)
    case failed(BluetoothError)
  }

  private enum Phase {
    case starting
    case scanning
    case pairing
    case over
  }

  private let blueZ: BlueZ
  private let selector: Address.BluetoothSelector
  private let onEvent: (Event) -> Void
  private var agent: PairingAgent?
  private var observer: BlueZ.Observer?
  private var adapter: BluetoothAdapter?
  private var phase = Phase.starting

  /// The time limit for pairing, which gives the user enough time to compare numbers.
  private static var pairingLimit: Duration { .seconds(120) }

  /// Starts the scan as soon as BlueZ answers.
  ///
  /// - Parameters:
  ///   - selector: the device to pair with. If the selector names no device, every device found is reported until
  ///     ``stop()`` is called.
  ///   - capability: what the user can enter and see: `KeyboardDisplay` at a terminal, and `NoInputNoOutput` otherwise.
  package init(
    _ selector: Address.BluetoothSelector, by blueZ: BlueZ, capability: String, onEvent: @escaping (Event) -> Void
  ) {
    self.blueZ = blueZ
    self.selector = selector
    self.onEvent = onEvent
    observer = blueZ.observe { [unowned self] in handle($0) }
    agent = PairingAgent(by: blueZ, at: "/easim/agent", capability: capability) { [unowned self] result in
      switch result {
      case .success: begin()
      case .failure(let error): finish(.failed(error))
      }
    } ask: {
      onEvent(.question($0))
    }
  }

  deinit { stop() }

  package func stop() {
    switch phase {
    case .scanning: scan(false)
    case .pairing:
      if let device = wanted { blueZ.call(device.path, BluetoothObjects.deviceInterface, "CancelPairing") { _ in } }
    case .starting, .over: break
    }
    phase = .over
  }

  private var wanted: BluetoothDevice? {
    guard selector.device != nil else { return nil }
    return blueZ.devices.first { $0.isMeant(by: selector) && $0.adapterPath == adapter?.path }
  }

  private func begin() {
    guard case .starting = phase else { return }
    do throws(BluetoothError) {
      let adapter = try blueZ.adapter(named: selector.adapter)
      self.adapter = adapter
      phase = .scanning
      if let device = wanted, device.isPaired { return trust(device) { [unowned self] in finish(.paired(device)) } }
      for device in blueZ.devices where device.adapterPath == adapter.path { saw(device) }
      guard case .scanning = phase else { return }
      scan(true)
    } catch {
      finish(.failed(error))
    }
  }

  private func scan(_ isOn: Bool) {
    guard let adapter else { return }
    func call(
      _ member: String, _ arguments: [BusValue] = [],
      completion: @escaping (Result<[BusValue], BluetoothError>) -> Void = { _ in }
    ) {
      blueZ.call(adapter.path, BluetoothObjects.adapterInterface, member, arguments, completion: completion)
    }
    guard isOn else { return call("StopDiscovery") }
    // iAP2 runs only over BR/EDR.
    call("SetDiscoveryFilter", [.properties(["Transport": .string("bredr")])])
    call("StartDiscovery") { [weak self] answer in
      if case .failure(let error) = answer { self?.finish(.failed(error)) }
    }
  }

  private func handle(_ event: BlueZ.Event) {
    switch event {
    case .unavailable(let reason): finish(.failed(reason))
    case .deviceFound(let device), .device(let device, from: _): if case .scanning = phase { saw(device) }
    default: break
    }
  }

  private func saw(_ device: BluetoothDevice) {
    guard device.adapterPath == adapter?.path else { return }
    if selector.device == nil { return onEvent(.found(device)) }
    guard device.isMeant(by: selector) else { return }
    phase = .pairing
    onEvent(.begun(device))
    trust(device) { [unowned self] in pair(device) }
  }

  private func trust(_ device: BluetoothDevice, then next: @escaping () -> Void) {
    blueZ.set(device.path, BluetoothObjects.deviceInterface, "Trusted", .bool(true)) { [weak self] result in
      guard let self else { return }
      if case .failure(let error) = result { return finish(.failed(error)) }
      next()
    }
  }

  private func pair(_ device: BluetoothDevice) {
    guard case .pairing = phase else { return }
    scan(false)
    blueZ.call(device.path, BluetoothObjects.deviceInterface, "Pair", timeout: Self.pairingLimit) {
      [weak self] answer in
      guard let self, case .pairing = phase else { return }
      switch answer {
      case .success: finish(.paired(wanted ?? device))
      case .failure(let error): finish(.failed(error))
      }
    }
  }

  private func finish(_ event: Event) {
    if case .over = phase { return }
    if case .scanning = phase { scan(false) }
    phase = .over
    onEvent(event)
  }

  /// Removes a device and its bond, so that the device is no longer trusted.
  package static func remove(
    _ device: BluetoothDevice, by blueZ: BlueZ, completion: @escaping (Result<Void, BluetoothError>) -> Void
  ) {
    blueZ.call(
      device.adapterPath, BluetoothObjects.adapterInterface, "RemoveDevice", [.objectPath(device.path)]
    ) { completion($0.map { _ in }) }
  }
}

/// Receives the questions that BlueZ asks during pairing, for as long as this object exists.
package final class PairingAgent {
  /// A question from BlueZ, which must be answered exactly once, either immediately or later.
  package enum Question {
    case authorization(device: String, answer: (Bool) -> Void)
    /// Ask the user whether both devices show this number.
    case confirmation(device: String, number: UInt32, answer: (Bool) -> Void)
    /// Ask the user which PIN (1 to 16 characters) the other device expects. An answer of nil refuses the pairing.
    case pin(device: String, answer: (String?) -> Void)
    /// Ask the user which number the other device shows. An answer of nil refuses the pairing.
    case passkey(device: String, answer: (UInt32?) -> Void)
    case service(device: String, uuid: String, answer: (Bool) -> Void)
    /// Show this text to the user, who then enters it on the other device.
    case show(device: String, String)
    /// The other device has cancelled the pairing, so the most recent question no longer needs an answer.
    case cancelled
  }

  private let ask: (Question) -> Void
  private var registration: RegisteredObject?

  /// Registers an agent as soon as BlueZ answers, and makes it the default agent.
  ///
  /// - Parameters:
  ///   - capability: what the user can enter and see, such as `KeyboardDisplay` or `NoInputNoOutput`.
  ///   - ready: called after each attempt to register the agent.
  package init(
    by blueZ: BlueZ, at path: String, capability: String,
    ready: @escaping (Result<Void, BluetoothError>) -> Void, ask: @escaping (Question) -> Void
  ) {
    self.ask = ask
    registration = RegisteredObject("Agent", at: path, by: blueZ, [.string(capability)]) { [weak self] result in
      if case .failure = result { return ready(result) }
      self?.registration?.call("RequestDefaultAgent") { [weak self] result in if self != nil { ready(result) } }
    } onCall: { [weak self] in
      self?.handle($0)
    }
  }

  private func handle(_ call: BusCall) {
    let device = call.arguments.first?.text ?? ""
    let second = call.arguments.dropFirst().first
    let number = UInt32(clamping: second?.number ?? 0)
    func answer(_ isAllowed: Bool) { reply(isAllowed ? [] : nil) }
    func reply(_ values: [BusValue]?) {
      if let values { call.answer(values) } else { call.fail("org.bluez.Error.Rejected", "refused by the user") }
    }
    switch call.member {
    case "RequestAuthorization": ask(.authorization(device: device, answer: answer))
    case "RequestConfirmation": ask(.confirmation(device: device, number: number, answer: answer))
    case "AuthorizeService":
      ask(.service(device: device, uuid: (second?.text ?? "").lowercased(), answer: answer))
    case "RequestPinCode": ask(.pin(device: device) { pin in reply(pin.map { [.string($0)] }) })
    case "RequestPasskey": ask(.passkey(device: device) { number in reply(number.map { [.uint32($0)] }) })
    case "DisplayPinCode":
      call.answer()
      ask(.show(device: device, second?.text ?? ""))
    case "DisplayPasskey":
      call.answer()
      ask(.show(device: device, Self.digits(number)))
    case "Cancel":
      call.answer()
      ask(.cancelled)
    case "Release": call.answer()
    default: call.failAsUnknown()
    }
  }

  /// Returns the number as six digits, the way both devices show it.
  package static func digits(_ number: UInt32) -> String { "\(number)".zeroPadded(to: 6) }
}
