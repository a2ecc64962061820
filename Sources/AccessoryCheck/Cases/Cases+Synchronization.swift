import AccessoryFormats
import IAP2

extension CheckCase {
  static let synchronization: [CheckCase] =
    [
      CheckCase(
        201, "syn-readable", "The SYN's payload has 10 bytes plus 3 for each session.", [.agreed],
        fix: "Send 10 bytes of values, then the id, type and version of each session."
      ) { run in
        let offer = try run.offer()
        guard let error = offer.device.offerError else { return }
        switch error.problem {
        case .tooShort, .cutTable: throw offer.failure("\(error)", PacketHeader.size..<offer.packet.bytes.count - 1)
        default: return
        }
      },
      value(.version, 202, "syn-version", "The link version in the SYN is 1.", [.agreed], .warning),
      value(.window, 203, "syn-window", "The SYN allows 1 to 127 outstanding packets.", [.agreed], .warning),
      value(.length, 204, "syn-length", "The SYN allows packets of 24 to 65,535 bytes.", [.agreed]),
      value(
        .retransmissionTimeout, 205, "syn-retransmission-timeout",
        "The retransmission timeout in the SYN is 20 to 65,535 ms.", [.agreed], .warning),
      value(
        .acknowledgementTimeout, 206, "syn-ack-timeout",
        "The cumulative acknowledgement timeout in the SYN is 10 to 32,767 ms.", [.agreed], .warning),
      value(
        .retransmissions, 207, "syn-retransmissions", "The SYN allows 1 to 30 retransmissions.", [.agreed],
        .warning),
      value(
        .cumulativeAcknowledgements, 208, "syn-cumulative",
        "The SYN does not let an acknowledgement cover more packets than may be outstanding.", [.agreed], .warning),
      CheckCase(
        209, "syn-sessions", "The SYN has one control session, and each session has a unique nonzero number.",
        [.agreed], fix: "Give each session a different number from 1 on, and exactly one of them type 0."
      ) { run in
        let offer = try run.offer()
        guard let error = offer.device.offerError else { return }
        switch error.problem {
        case .noSessions, .sessionZero, .duplicateSession, .notOneControlSession, .otherControlSession:
          throw offer.failure("\(error)", PacketHeader.size + 10..<offer.packet.bytes.count - 1)
        case .tooShort, .cutTable: return
        }
      },
      CheckCase(
        210, "syn-ea-session",
        "An accessory that uses protocols over the link declares an External Accessory session in its SYN.",
        [.agreed], fix: "Add a session of type 2 to the SYN."
      ) { run in
        let protocols = try run.identification().protocols.filter { $0.nativeTransportComponent == nil }
        if protocols.isEmpty { throw CheckSkip("the accessory declares no protocol over the link", isUndeclared: true) }
        let offer = try run.offer()
        guard offer.device.dataSession == nil else { return }
        throw offer.failure(
          "The accessory declares \(protocols[0].name), but its SYN has no session of type 2.",
          PacketHeader.size + 10..<offer.packet.bytes.count - 1)
      },
      CheckCase(
        211, "syn-control", "The SYN's control byte is 80 and its session number is 0.", [.agreed, .captured],
        fix: "Send the SYN with control byte 80 and session 0."
      ) { run in
        let offer = try run.offer()
        guard let header = offer.packet.header else { return }
        if header.control != .syn {
          throw offer.failure("The control byte is \(header.control).", WirePacket.Part.control)
        }
        if header.session != 0 { throw offer.failure("Its session is \(header.session).", WirePacket.Part.session) }
      },
      CheckCase(
        212, "syn-repeat", "An unanswered SYN is retransmitted unchanged.", [.agreed],
        fix: "Send the same SYN, with the same sequence number, about every second until the SYN+ACK arrives."
      ) { run in
        let (device, all) = try run.unsynchronized()
        guard all.count > 1 else {
          throw CheckFailure("The unanswered SYN was sent only once in 4 s.", device.proof(all[0].index))
        }
        for one in all.dropFirst() where one.bytes != all[0].bytes {
          let marks = zip(one.bytes, all[0].bytes).enumerated().filter { $1.0 != $1.1 }.map {
            $0.offset..<$0.offset + 1
          }
          throw CheckFailure("The repetition differs.", device.proof(all[0].index) + device.proof(one.index, marks))
        }
      },
      CheckCase(
        213, "syn-pace", "SYNs are at least 100 ms apart.", [.inferred], .warning,
        fix: "Wait about a second for the SYN+ACK before retransmitting the SYN."
      ) { run in
        let (device, all) = try run.unsynchronized()
        for (one, next) in zip(all, all.dropFirst()) where next.time - one.time < .milliseconds(100) {
          throw CheckFailure(
            "Two detection sequences are \(DurationText.format(next.time - one.time)) apart.",
            device.proof(one.index) + device.proof(next.index))
        }
      },
      CheckCase(
        214, "syn-acknowledged",
        "The accessory answers the SYN+ACK with a packet without a payload, which acknowledges the SYN+ACK and "
          + "repeats the SYN's sequence number.",
        [.captured],
        fix: "Answer the SYN+ACK with control byte 40, the sequence number of your SYN, and the number of the SYN+ACK."
      ) { run in
        let offer = try run.offer()
        let device = offer.device
        guard
          let ours = device.record.first(where: { !$0.isFromAccessory && $0.header?.control.contains(.syn) ?? false }),
          let sent = ours.header
        else { throw CheckSkip("the accessory's SYN cannot be answered (case 201)") }
        let answers = device.record[(ours.index + 1)...].filter { $0.isFromAccessory && $0.header != nil }
        guard let answer = answers.first(where: { !($0.header?.control.contains(.syn) ?? true) }),
          let header = answer.header
        else {
          throw CheckFailure("The SYN+ACK was never answered.", device.proof(from: offer.packet.index))
        }
        let proof = device.proof(offer.packet.index) + device.proof(ours.index)
        func find(_ text: String, _ mark: Range<Int>) -> CheckFailure {
          CheckFailure(text, proof + device.proof(answer.index, [mark]))
        }
        if header.payloadCount > 0 { throw find("It carries a payload.", WirePacket.Part.length) }
        if header.control != .ack { throw find("The control byte is \(header.control).", WirePacket.Part.control) }
        if header.acknowledgement != sent.sequence {
          throw find("It acknowledges another number.", WirePacket.Part.acknowledgement)
        }
        if header.sequence != sent.acknowledgement {
          throw find("The answer's sequence number is not that of the SYN.", WirePacket.Part.sequence)
        }
      },
      CheckCase(
        215, "syn-acknowledged-again", "A retransmitted SYN+ACK is acknowledged again.", [.inferred], .note,
        fix: "Answer every repeated SYN+ACK: the device retransmits it if your acknowledgement was lost."
      ) { run in
        let device = try run.device(at: .linked)
        try device.pump.pause(.milliseconds(300))
        let mark = device.record.count
        device.sendAnswer(remark: "sent again")
        let came = try device.wait(within: .seconds(2)) {
          device.record[mark...].contains { $0.isFromAccessory && $0.header?.acknowledgement == device.lastSent }
        }
        if !came { throw CheckFailure("It was not.", device.proof(from: max(0, mark - 2))) }
      },
      CheckCase(
        216, "syn-other-number",
        "The device's sequence numbers may begin anywhere, even just before the wrap from FF to 00.",
        [.agreed], fix: "Take the device's first sequence number from its SYN+ACK, and count modulo 256."
      ) { run in
        try run.expectReady("With a SYN+ACK numbered FE") { $0.initialSequence = 0xFE }
      },
      CheckCase(
        217, "syn-other-values", "A link is established even if the SYN+ACK has a different retransmission timeout.",
        [.agreed],
        .warning, fix: "Adopt the four recovery values of the SYN+ACK, or offer them in another SYN."
      ) { run in
        let device = try run.survey().device
        try run.needLink()
        if device.isZeroAcknowledgement { throw CheckSkip(CheckRun.zeroAcknowledgement) }
        let other: UInt16 = device.answer.retransmissionTimeout == 1_500 ? 1_600 : 1_500
        try run.expectLink(run.device(at: .attached) { $0.alters = { $0.retransmissionTimeout = other } })
      },
      CheckCase(
        218, "syn-split", "The accessory accepts a SYN+ACK that arrives byte by byte.", [.agreed],
        fix: "Treat the line as a byte stream: collect bytes until the packet is complete."
      ) { run in
        try run.needLink()
        let device = try run.device(at: .attached) { $0.answersSynchronization = false }
        guard try device.wait(within: run.stepLimit, until: { device.offer != nil }) else {
          throw CheckSkip("the accessory sent no SYN")
        }
        try device.answerSlowly()
        try run.expectLink(device)
      },
      CheckCase(
        219, "reset-restarts",
        "After a reset (RST), the accessory starts over with a SYN or with detection, or disconnects.",
        [.agreed], fix: "On RST, discard the link and send a new SYN."
      ) { run in
        let (device, mark) = try run.afterReset()
        let began = device.record[mark...].contains { $0.isFromAccessory && Self.begins($0) }
        guard began || !device.line.isOpen else {
          throw CheckFailure("The accessory did neither within 5 s.", device.proof(from: mark - 1))
        }
      },
      CheckCase(
        220, "reset-fresh-number",
        "The SYN after a reset has a different sequence number from the SYN before the reset.",
        [.seenOnce],
        .note, fix: "Begin each link with a sequence number that was not in use when the previous link ended."
      ) { run in
        let (device, mark) = try run.afterReset()
        let all = device.record.filter { $0.isFromAccessory && $0.header?.control.contains(.syn) ?? false }
        guard let old = all.last(where: { $0.index < mark }), let new = all.first(where: { $0.index > mark }) else {
          throw CheckSkip("no SYN arrived after the reset")
        }
        if old.header?.sequence == new.header?.sequence {
          throw CheckFailure(
            "It is the same.",
            device.proof(old.index) + device.proof(mark) + device.proof(new.index, [WirePacket.Part.sequence]))
        }
      },
    ]

  private static func begins(_ packet: WirePacket) -> Bool {
    packet.kind == .detection || packet.header?.control.contains(.syn) ?? false
  }

  private static func value(
    _ field: LinkParameters.Field, _ number: Int, _ name: String, _ sentence: String, _ sources: [CheckSource],
    _ severity: Severity = .error
  ) -> CheckCase {
    CheckCase(
      number, name, sentence, sources, severity,
      fix: "Correct the \(field.rawValue) in the SYN; Apple devices answer such a SYN differently, if at all."
    ) { run in
      let offer = try run.offer()
      guard let parameters = offer.device.offer else { throw CheckSkip("the SYN cannot be read (case 201)") }
      guard let wrong = parameters.valuesOutOfRange(isOffer: true).first(where: { $0.field == field }) else { return }
      let range =
        wrong.allowed.count == 1
        ? "\(wrong.allowed.lowerBound)" : "\(wrong.allowed.lowerBound) to \(wrong.allowed.upperBound)"
      throw offer.failure("The SYN has \(wrong.value); \(range) is allowed.", field.place)
    }
  }
}

extension LinkParameters.Field {
  /// The position of the field's bytes in a SYN packet.
  fileprivate var place: Range<Int> {
    let range =
      switch self {
      case .version: 0..<1
      case .window: 1..<2
      case .length: 2..<4
      case .retransmissionTimeout: 4..<6
      case .acknowledgementTimeout: 6..<8
      case .retransmissions: 8..<9
      case .cumulativeAcknowledgements: 9..<10
      }
    return range.lowerBound + PacketHeader.size..<range.upperBound + PacketHeader.size
  }
}

struct Offer {
  let device: CheckDevice
  let packet: WirePacket

  func failure(_ text: String, _ mark: Range<Int>) -> CheckFailure {
    CheckFailure(text, device.proof(packet.index, [mark]))
  }
}

extension CheckRun {
  static let zeroAcknowledgement =
    "the accessory asks for a link without acknowledgements, on which nothing is retransmitted"

  func offer() throws -> Offer {
    let device = try survey().device
    guard let index = device.offerPacket, device.record.indices.contains(index) else {
      throw CheckSkip("the accessory sent no SYN (case 108)")
    }
    return Offer(device: device, packet: device.record[index])
  }

  /// Returns two things: an attachment on which the device answers only the detection sequence, and the SYNs that the
  /// accessory sent.
  func unsynchronized() throws -> (CheckDevice, [WirePacket]) {
    if knownUnsynchronized == nil {
      let device = try device(at: .attached) { $0.answersSynchronization = false }
      _ = try device.wait(within: .milliseconds(4_500)) { false }
      knownUnsynchronized = device
    }
    let device = try knownUnsynchronized ?? survey().device
    let all = device.record.filter { $0.isFromAccessory && $0.header?.control.contains(.syn) ?? false }
    if all.isEmpty { throw CheckSkip("the accessory sent no SYN (case 108)") }
    return (device, all)
  }

  /// Returns a ready attachment whose link was reset, along with the index of the reset in the attachment's record.
  func afterReset() throws -> (CheckDevice, Int) {
    let device = try device(at: .ready)
    try device.pump.pause(settings.quiet)
    let mark = device.record.count
    device.reset()
    _ = try device.wait(within: .seconds(5)) {
      device.record[mark...].contains { $0.isFromAccessory && $0.header?.control.contains(.syn) ?? false }
    }
    return (device, mark)
  }
}
