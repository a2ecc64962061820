import AccessoryCore
import IAP2

extension CheckCase {
  static let identification: [CheckCase] =
    [
      CheckCase(
        601, "identification", "The accessory answers 1D00 with 1D01.", [.agreed],
        fix: "Send the identification (1D01) whenever the device asks for it."
      ) { run in
        _ = try run.survey(judging: 601)
      },
      CheckCase(
        602, "identification-prompt", "The identification arrives within 5 s.", [.inferred], .warning,
        fix: "Prepare the identification in advance: an app in the background has only about 10 s in total."
      ) { run in
        let survey = try run.survey()
        _ = try run.identification()
        guard let found = survey.identification else { return }
        try run.expectPrompt(survey.device, .startIdentification, found.at, .seconds(5))
      },
      CheckCase(
        603, "identification-once", "The accessory answers each 1D00 with exactly one 1D01.", [.inferred], .warning,
        fix: "Send 1D01 only in answer to 1D00, once each."
      ) { run in
        _ = try run.identification()
        let device = try run.survey().device
        let all = device.messages.filter { $0.message.id == .identificationInformation }
        if all.count > 1 {
          throw CheckFailure("1D01 was sent \(all.count) times.", all.flatMap { device.proof($0.packet, [13..<15]) })
        }
      },
      CheckCase(
        604, "identification-same", "The identification is the same each time the accessory is plugged in.",
        [.inferred], .warning,
        fix: "Send the same identification each time; announce changes with 1D06."
      ) { run in
        let survey = try run.survey()
        _ = try run.identification()
        guard let first = survey.identification else { return }
        let device = try run.beforeIdentification()
        let second = try run.orSkip { try device.requestIdentification(within: run.stepLimit) }
        // Case 607 covers the first identification of accessories that connect twice.
        if second.reading.identification.protocols.isEmpty, !survey.departures.isEmpty { return }
        if first.at.message.body != second.at.message.body {
          throw CheckFailure("It differs.", survey.device.proof(first.at.packet) + device.proof(second.at.packet))
        }
      },
      CheckCase(
        605, "identification-rejected",
        "After a rejected identification (1D03), the accessory works again once it is unplugged and plugged back in.",
        [.seenOnce],
        fix: "On 1D03, send another identification, or wait until the cable is pulled."
      ) { run in
        _ = try run.identification()
        let device = try run.beforeIdentification()
        _ = try run.orSkip { try device.requestIdentification(within: run.stepLimit) }
        try device.send(ControlMessage(.identificationRejected) { $0.none(11) })
        _ = try device.wait(within: .seconds(1)) { false }
        try run.expectReady("When plugged in again after 1D03")
      },
      CheckCase(
        607, "identification-whole",
        "The accessory declares all of its protocols and stays connected when it is first plugged in.", [.seenOnce],
        .warning,
        fix: "Do not detach to change the protocols: apps see a connect, a disconnect and another connect."
      ) { run in
        let survey = try run.survey()
        guard let first = survey.departures.first else { return }
        throw CheckFailure(
          "The accessory disconnected on its own \(survey.departures.count) "
            + "time\(survey.departures.count == 1 ? "" : "s") before it stayed: "
            + "\(first.reason).", first.device.lastProof(8))
      },
      CheckCase(
        608, "identification-rejected-again",
        "An accessory whose identification is rejected does not keep sending the same identification.", [.seenOnce],
        .warning,
        fix: "After 1D03, send a different identification, or none: an Apple device gives up after the second."
      ) { run in
        _ = try run.identification()
        let device = try run.beforeIdentification()
        let start = device.record.count
        var last = try run.orSkip { try device.requestIdentification(within: run.stepLimit) }.at
        for _ in 0..<4 {
          let mark = device.messages.count
          try device.send(ControlMessage(.identificationRejected) { $0.none(11) })
          guard let next = try device.awaitMessage([.identificationInformation], after: mark, within: .seconds(1)),
            next.message.body == last.message.body
          else { return }
          last = next
        }
        throw CheckFailure(
          "The accessory answered each of four rejections with the same identification.",
          device.proof(from: start))
      },
    ] + rules

  private static let rules: [CheckCase] = [
    rule(
      .missingParameter, 621, "The identification contains parameters 0 to 9, 12 and 13.", [.captured],
      "Add the parameter."),
    rule(
      .unreadableParameter, 622, "Each parameter's value is valid for its type.", [.agreed],
      "Correct the parameter's length and content."),
    rule(
      .repeatedParameter, 623, "Parameters that may appear only once are not repeated.", [.inferred],
      "Send the parameter once."),
    rule(.blankText, 624, "No required text is blank.", [.seenOnce], "Fill the text in."),
    rule(
      .textWithoutEnd, 625, "Text parameters end with a zero byte.", [.agreed], "Add 00 to the end of the text.",
      .warning),
    rule(
      .packedLanguages, 626, "Each supported language has its own parameter 13.", [.agreed],
      "Repeat parameter 13 for each language.", .warning),
    rule(
      .blankOptionalText, 627, "No optional text is blank.", [.inferred],
      "Omit the parameter, or fill it in.", .warning),
    rule(
      .presenceWithValue, 628, "A parameter that conveys information only by being present has no value.", [.seenOnce],
      "Send the parameter with length 4."),
    rule(
      .duplicateProtocol, 629, "Protocols have unique numbers and names.", [.inferred],
      "Give each protocol a unique number and name."),
    rule(
      .duplicateComponent, 630, "Components of one kind have unique numbers.", [.seenOnce],
      "Give each component of one kind a unique number."),
    rule(
      .missingTransport, 631, "At least one transport component (14 to 17) is declared.", [.captured],
      "Declare the transport by which the accessory is attached.", .warning),
    rule(
      .unknownNativeTransport, 632, "Every transport component that a protocol refers to is declared.", [.agreed],
      "Name a declared component in the protocol's parameter 3, or omit the parameter.", .warning),
    rule(
      .nativeTransportBesideUSB, 633, "Every transport component that a protocol refers to is a USB component.",
      [.agreed],
      "Omit the protocol's parameter 3, or name a USB component.", .warning),
    rule(
      .startWithoutStop, 634, "For each Start message it sends, the accessory also declares the matching Stop message.",
      [.seenOnce],
      "Add the Stop message to parameter 6."),
    rule(
      .receivedWithoutRequest, 635,
      "For each answer it receives, the accessory also declares the message that requests this answer.",
      [.seenOnce], "Add the request to parameter 6, or remove the answer from parameter 7."),
    rule(
      .reservedMessage, 636, "The identification does not list AAxx or 1Dxx messages.", [.agreed],
      "Remove them from parameters 6 and 7."),
    rule(
      .wrongDirection, 637,
      "Parameter 6 lists the messages that the accessory sends, and parameter 7 those that it receives.", [.inferred],
      "Move the message to the other list.", .warning),
    rule(
      .sessionsWithoutMessages, 638,
      "An accessory that uses protocols over the link lists EA00 and EA01 in parameter 7.",
      [.agreed], "Add EA00 and EA01 to parameter 7.", .warning),
  ]

  private static func rule(
    _ check: IdentificationCheck, _ number: Int, _ sentence: String, _ sources: [CheckSource],
    _ fix: String, _ severity: Severity = .error
  ) -> CheckCase {
    let name =
      "identification-" + check.rawValue.flatMap { $0.isUppercase ? ["-", $0.lowercased()] : ["\($0)"] }.joined()
    return CheckCase(number, name, sentence, sources, severity, fix: fix) { run in
      _ = try run.identification()
      guard let found = try run.survey().identification else { return }
      let verdict = IdentificationJudge.strict.judge(found.reading)
      let broken = (verdict.errors + verdict.warnings).filter { $0.check == check }
      if broken.isEmpty { return }
      let device = try run.survey().device
      let text = broken.map { "Parameter \($0.parameter): \($0.reason)." }.joined(separator: " ")
      let marks = broken.flatMap { places(of: $0.parameter, found.at, device) }
      throw CheckFailure(text, device.proof(found.at.packet, marks))
    }
  }

  /// Returns the byte ranges of all parameters numbered `parameter` in the packet that carries the identification.
  private static func places(
    of parameter: UInt16, _ received: CheckDevice.Received, _ device: CheckDevice
  ) -> [Range<Int>] {
    let packet = device.record[received.packet]
    // If a message spans several packets, offsets into the message are not offsets into a packet.
    guard packet.payload.count == received.message.body.count + ControlMessage.headerSize else { return [] }
    let start = PacketHeader.size + ControlMessage.headerSize
    return ((try? ParameterReader.read(received.message.body)) ?? []).filter { $0.id == parameter }.map {
      start + $0.offset..<start + $0.offset + 4 + $0.value.count
    }
  }

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
