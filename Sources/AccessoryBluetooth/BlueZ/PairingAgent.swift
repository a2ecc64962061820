import AccessoryCore

/// Receives the questions that BlueZ asks while two devices pair. BlueZ asks this process as long as this object exists.
public final class PairingAgent {
  /// A question of BlueZ, to be answered once, now or later.
  public enum Question {
    /// May they pair without a number or a PIN?
    case authorization(device: String, answer: (Bool) -> Void)
    /// Do both devices show this number?
    case confirmation(device: String, number: UInt32, answer: (Bool) -> Void)
    /// Which PIN does the other device want (1 to 16 characters)? nil refuses.
    case pin(device: String, answer: (String?) -> Void)
    /// Which number does the other device show? nil refuses.
    case passkey(device: String, answer: (UInt32?) -> Void)
    /// May the device use this service?
    case service(device: String, uuid: String, answer: (Bool) -> Void)
    /// Show this to the user, who types it at the other device.
    case show(device: String, String)
    /// The other device gave up, and the last question needs no answer.
    case cancelled
  }

  private static let managerInterface = "org.bluez.AgentManager1"
  private static let agentInterface = "org.bluez.Agent1"

  private let blueZ: BlueZ
  private let path: String
  private let capability: String
  private let ask: (Question) -> Void
  private let ready: (Result<Void, BluetoothError>) -> Void
  private var registration: RegisteredObject?

  /// Registers an agent, from when BlueZ first answers, and makes it the default agent.
  ///
  /// - Parameters:
  ///   - capability: what the user can do: `KeyboardDisplay`, `NoInputNoOutput`, ….
  ///   - ready: called whenever it is registered, or cannot be.
  public init(
    by blueZ: BlueZ, at path: String, capability: String,
    ready: @escaping (Result<Void, BluetoothError>) -> Void = { _ in }, ask: @escaping (Question) -> Void
  ) {
    self.blueZ = blueZ
    self.path = path
    self.capability = capability
    self.ready = ready
    self.ask = ask
    registration = RegisteredObject(
      at: path, by: blueZ, manager: Self.managerInterface, unregister: "UnregisterAgent"
    ) { [weak self] call in
      self?.handle(call)
    } exported: { [weak self] result in
      switch result {
      case .success: self?.register()
      case .failure(let error): self?.ready(.failure(error))
      }
    }
  }

  private func register() {
    let arguments: [BusValue] = [.objectPath(path), .string(capability)]
    blueZ.call("/org/bluez", Self.managerInterface, "RegisterAgent", arguments) { [weak self] answer in
      guard let self else { return }
      if case .failure(let error) = answer { return ready(.failure(error)) }
      blueZ.call("/org/bluez", Self.managerInterface, "RequestDefaultAgent", [.objectPath(path)]) {
        [weak self] answer in
        self?.ready(answer.map { _ in })
      }
    }
  }

  private func handle(_ call: BusCall) {
    guard call.interface.isEmpty || call.interface == Self.agentInterface else { return call.failAsUnknown() }
    let device = call.arguments.first?.text ?? ""
    let second = call.arguments.dropFirst().first
    switch call.member {
    case "RequestAuthorization": ask(.authorization(device: device) { Self.answer(call, $0) })
    case "RequestConfirmation":
      ask(
        .confirmation(device: device, number: UInt32(clamping: second?.number ?? 0)) { Self.answer(call, $0) })
    case "AuthorizeService":
      ask(.service(device: device, uuid: (second?.text ?? "").lowercased()) { Self.answer(call, $0) })
    case "RequestPinCode":
      ask(.pin(device: device) { pin in if let pin { call.answer([.string(pin)]) } else { Self.answer(call, false) } })
    case "RequestPasskey":
      ask(
        .passkey(device: device) { number in
          if let number { call.answer([.uint32(number)]) } else { Self.answer(call, false) }
        })
    case "DisplayPinCode":
      call.answer()
      ask(.show(device: device, second?.text ?? ""))
    case "DisplayPasskey":
      call.answer()
      ask(.show(device: device, Self.digits(UInt32(clamping: second?.number ?? 0))))
    case "Cancel":
      call.answer()
      ask(.cancelled)
    case "Release": call.answer()
    default: call.failAsUnknown()
    }
  }

  /// A number as both devices show it: six digits.
  public static func digits(_ number: UInt32) -> String { "\(number)".zeroPadded(to: 6) }

  private static func answer(_ call: BusCall, _ isAllowed: Bool) {
    if isAllowed { call.answer() } else { call.fail("org.bluez.Error.Rejected", "refused by the user") }
  }
}
