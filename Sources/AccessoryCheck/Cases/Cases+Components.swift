import AccessoryCore
import IAP2

extension CheckCase {
  static let components: [CheckCase] = [
    answer(
      1001, "location", "The accessory answers StartLocationInformation (FFFA) with NMEA sentences (FFFB).", 0xFFFA,
      0xFFFB,
      ask: {
        $0.none(1); $0.none(2)
      }
    ) { parameters in
      guard let sentence = try? parameters.first(0)?.text() else { return "parameter 0 contains no sentence" }
      return sentence.hasPrefix("$") ? nil : "'\(sentence.prefix(20))' does not begin with $"
    },
    answer(
      1002, "wifi", "The accessory answers the request for its Wi-Fi configuration (5702) with 5703.", 0x5702, 0x5703
    ) { parameters in
      (try? parameters.first(1)?.text()) == nil ? "parameter 1 contains no network name" : nil
    },
    answer(
      1003, "vehicle", "The accessory answers StartVehicleStatusUpdates (A100) with A101.", 0xA100, 0xA101,
      ask: {
        $0.none(3); $0.none(4)
      }
    ) { _ in nil },
    answer(
      1004, "pairing",
      "The accessory answers StartOOBBTPairing (00B0) with 00B1, a transport component and an address.",
      0x00B0,
      0x00B1
    ) { parameters in
      (parameters.first(1)?.value.count ?? 0) == 6 ? nil : "parameter 1 contains no address of 6 bytes"
    },
    CheckCase(
      1005, "hid-component", "StartHID (6800) contains a declared HID component, a vendor ID and a product ID.",
      [.agreed],
      fix: "Declare the component in group 18, and send its number, vendor ID and product ID in 6800."
    ) { run in
      let components = try run.identification().hidComponents
      let device = try run.survey().device
      guard let start = device.messages.first(where: { $0.message.id.rawValue == 0x6800 }) else {
        throw CheckSkip("the accessory sent no StartHID (6800)", isUndeclared: components.isEmpty)
      }
      let parameters = (try? ParameterReader.read(start.message.body)) ?? []
      guard let id: UInt16 = try? parameters.first(0)?.number(), components.contains(where: { $0.id == id }) else {
        throw CheckFailure("StartHID names a component that group 18 does not declare.", device.proof(start.packet))
      }
      for number in [UInt16(1), 2, 4] where parameters.first(number) == nil {
        throw CheckFailure("Parameter \(number) is missing.", device.proof(start.packet))
      }
    },
    CheckCase(
      1006, "power-update", "An accessory that has subscribed to power updates (AE00) accepts an update (AE01).",
      [.agreed],
      fix: "Acknowledge AE01, use the parameters you know, and ignore the rest."
    ) { run in
      let identification = try run.identification()
      guard identification.messagesReceived.contains(.powerUpdate) else {
        throw CheckSkip("the accessory does not list AE01", isUndeclared: true)
      }
      let device = try run.device(at: .ready)
      _ = try device.awaitMessage([.startPowerUpdates], after: 0, within: run.settings.quiet)
      try device.send(
        ControlMessage(.powerUpdate) {
          $0.u16(0, 500)
          $0.u8(1, 1)
        })
      try run.expectAcknowledged(device, "AE01")
    },
  ]

  private static func answer(
    _ number: Int, _ name: String, _ sentence: String, _ request: UInt16, _ answer: UInt16,
    ask: @escaping @Sendable (inout ParameterWriter) -> Void = { _ in },
    objection: @escaping @Sendable ([Parameter]) -> String?
  ) -> CheckCase {
    let (request, answer) = (MessageID(rawValue: request), MessageID(rawValue: answer))
    return CheckCase(
      number, name, sentence, [.agreed],
      fix: "Answer \(request) with \(answer), or remove both from the identification's lists."
    ) { run in
      let identification = try run.identification()
      guard identification.messagesReceived.contains(request), identification.messagesSent.contains(answer) else {
        throw CheckSkip(
          "the accessory does not list \(Hex.number(request.rawValue)) and \(Hex.number(answer.rawValue))",
          isUndeclared: true)
      }
      let device = try run.device(at: .ready)
      _ = try device.wait(within: run.settings.quiet) { false }
      let (mark, before) = (device.record.count, device.messages.count)
      try device.send(ControlMessage(request, ask))
      guard let received = try device.awaitMessage([answer], after: before, within: .seconds(10)) else {
        throw CheckFailure("The request was not answered within 10 s.", device.proof(from: mark))
      }
      let parameters = (try? ParameterReader.read(received.message.body)) ?? []
      if let objection = objection(parameters) {
        throw CheckFailure("In the answer \(objection).", device.proof(received.packet, [15..<32]))
      }
    }
  }
}
