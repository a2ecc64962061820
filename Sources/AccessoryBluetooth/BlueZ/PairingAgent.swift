import AccessoryCore

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
    /// Ask the user whether the device may use this service.
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
