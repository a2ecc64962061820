import AccessoryCore
import AccessoryFormats
import IAP2

extension CheckCase {
  static let packets: [CheckCase] = [
    CheckCase(
      301, "packet-checksums", "Every packet has correct header and payload checksums.", [.agreed],
      fix: "Make bytes 0 to 8 add up to zero modulo 256, and likewise the payload with its checksum."
    ) { run in
      let device = try run.survey().device
      for packet in device.record where packet.isFromAccessory {
        switch packet.kind {
        case .spoiled:
          throw CheckFailure(
            "A payload checksum is wrong.",
            device.proof(packet.index, [packet.bytes.count - 1..<packet.bytes.count]))
        case .garbage:
          throw CheckFailure(
            "Some bytes are not a packet, for example because a header checksum is wrong.",
            device.proof(packet.index, [0..<packet.bytes.count]))
        case .packet, .detection, .legacy, .raw: break
        }
      }
    },
    CheckCase(
      302, "packet-control", "The control byte contains only SYN, ACK and EAK; packets with a payload have ACK set.",
      [.agreed],
      fix: "Use control byte 40 for data and acknowledgements, and 80 for the SYN; only the device sends RST and SLP."
    ) { run in
      try run.eachPacket { packet, header in
        let allowed: [ControlBits] = [.syn, [.syn, .ack], .ack, .eak, [.eak, .ack]]
        guard !allowed.contains(header.control) else { return nil }
        return ("It says \(header.control).", WirePacket.Part.control)
      }
    },
    CheckCase(
      303, "packet-session",
      "Packets with a payload carry the number of a session from the SYN; packets without a payload carry session 0.",
      [.agreed], fix: "Put the session's number into byte 7, or 0 in packets without a payload."
    ) { run in
      let known = Set(try run.offer().device.offer?.sessions.map(\.id) ?? [])
      try run.eachPacket { packet, header in
        if packet.isData, !known.contains(header.session) {
          return ("Session \(header.session) is not in the SYN.", WirePacket.Part.session)
        }
        if header.payloadCount == 0, header.session != 0 {
          return ("A packet without a payload names session \(header.session).", WirePacket.Part.session)
        }
        return nil
      }
    },
    CheckCase(
      304, "packet-empty", "A packet without a payload has 9 bytes and no payload checksum.", [.agreed], .warning,
      fix: "Omit the payload checksum if there is no payload."
    ) { run in
      try run.eachPacket { _, header in
        header.length == 10 ? ("It has 10 bytes.", WirePacket.Part.length) : nil
      }
    },
    CheckCase(
      305, "packet-numbers",
      "Sequence numbers increase by one with each packet that has a payload, starting after the SYN's number.",
      [.agreed],
      fix: "Increment the number by one, modulo 256, for each packet with a payload, and retransmit a packet with its "
        + "own number."
    ) { run in
      var last: UInt8?
      try run.eachPacket { packet, header in
        if header.control.contains(.syn) {
          last = header.sequence
          return nil
        }
        guard packet.isData, let before = last else { return nil }
        let distance = header.sequence &- before
        if distance == 1 { last = header.sequence }
        // A packet with an older sequence number is a retransmission.
        return distance > 1 && distance < 128
          ? ("Sequence number \(Hex.number(header.sequence)) follows \(Hex.number(before)).", WirePacket.Part.sequence)
          : nil
      }
    },
    CheckCase(
      306, "packet-bare-number",
      "A packet without a payload repeats the last sequence number instead of using a new one.",
      [.agreed, .captured], .note,
      fix: "Do not count acknowledgements: repeat the number of the last packet with a payload."
    ) { run in
      var last: UInt8?
      var wasAcknowledgement = false
      try run.eachPacket { packet, header in
        if header.control.contains(.syn) || packet.isData {
          let distance = header.sequence &- (last ?? header.sequence)
          if distance < 128 { last = header.sequence }
          wasAcknowledgement = header.control.contains(.syn)
          return nil
        }
        // Case 214 covers the packet that answers the SYN+ACK.
        defer { wasAcknowledgement = false }
        guard let last, !wasAcknowledgement, header.sequence != last else { return nil }
        return ("Sequence number \(Hex.number(header.sequence)) follows \(Hex.number(last)).", WirePacket.Part.sequence)
      }
    },
    CheckCase(
      307, "packet-acknowledges", "Acknowledgement numbers refer to packets that the device has sent.", [.agreed],
      fix: "Acknowledge the last sequence number that arrived in order."
    ) { run in
      let device = try run.survey().device
      var sent: UInt8?
      for packet in device.record {
        guard let header = packet.header else { continue }
        if !packet.isFromAccessory {
          // Skips retransmissions, whose numbers are lower than the last number that was sent.
          if packet.isData || header.control.contains(.syn), header.sequence &- (sent ?? header.sequence) < 128 {
            sent = header.sequence
          }
        } else if let sent, header.control.contains(.ack), !header.control.contains(.syn),
          sent &- header.acknowledgement > 127
        {
          throw CheckFailure(
            "The packet acknowledges \(Hex.number(header.acknowledgement)), but the last one sent was "
              + "\(Hex.number(sent)).",
            device.proof(packet.index, [WirePacket.Part.acknowledgement]))
        }
      }
    },
    CheckCase(
      308, "packet-length", "No packet is longer than the device's SYN+ACK allows.", [.agreed],
      fix: "Split data into packets no longer than bytes 2 and 3 of the SYN+ACK's payload allow."
    ) { run in
      let limit: UInt16 = 1_024
      let device = try run.busyDevice { $0.packetLength = limit }
      if let long = device.record.first(where: { $0.isFromAccessory && $0.bytes.count > Int(limit) }) {
        throw CheckFailure(
          "The device accepts \(limit) bytes, but this packet has \(long.bytes.count).",
          device.proof(long.index, [WirePacket.Part.length]))
      }
    },
    CheckCase(
      309, "packet-window", "The accessory never has more packets outstanding than the device's SYN+ACK allows.",
      [.agreed],
      fix: "Wait for an acknowledgement once as many packets are outstanding as byte 1 of the SYN+ACK's payload allows."
    ) { run in
      let window = 4
      let session = try run.echoSession { ($0.window, $0.packetLength) = (UInt8(window), 1_024) }
      let device = session.device
      if device.isZeroAcknowledgement { throw CheckSkip(CheckRun.zeroAcknowledgement) }
      let mark = device.record.count
      device.configuration.acknowledges = false
      let piece = min(800, run.largestPiece(device))
      for _ in 0..<10 { try session.send(CheckBytes.counting(piece)) }
      _ = try device.wait(within: run.settings.quiet) { false }
      var acknowledged: UInt8 = 0
      var base: Int?
      for packet in device.record[...] {
        guard let header = packet.header else { continue }
        if !packet.isFromAccessory {
          (acknowledged, base) = (header.acknowledgement, packet.index)
        } else if packet.isData, packet.index >= mark {
          let outstanding = header.sequence &- acknowledged
          guard outstanding > window, outstanding < 128 else { continue }
          let sent = device.record[mark...packet.index].filter { $0.isFromAccessory && $0.isData }
          throw CheckFailure(
            "The device accepts \(window) unacknowledged packets, but this is number \(outstanding).",
            // The proof consists of the last acknowledgement and the packets that were sent after it.
            device.proof(base, [WirePacket.Part.acknowledgement])
              + sent.suffix(6).flatMap { device.proof($0.index, [WirePacket.Part.sequence]) })
        }
      }
    },
    CheckCase(
      310, "packet-acknowledged-in-time",
      "A packet is acknowledged within the SYN's cumulative acknowledgement timeout.", [.agreed],
      fix: "Start the timeout at the first unacknowledged packet, and send an acknowledgement when it expires."
    ) { run in
      let survey = try run.survey()
      let device = survey.device
      try run.needLink()
      if device.isZeroAcknowledgement { throw CheckSkip(CheckRun.zeroAcknowledgement) }
      let timeout = device.acknowledgementTimeout
      let limit = timeout + .seconds(1)
      for packet in device.record where !packet.isFromAccessory && packet.isData && packet.remark.isEmpty {
        guard let number = packet.header?.sequence else { continue }
        let answer = device.record[packet.index...].first { other in
          guard other.isFromAccessory, let header = other.header, header.control.contains(.ack) else { return false }
          return header.acknowledgement &- number < 128
        }
        let time = (answer?.time ?? device.line.ended ?? .distantFuture) - packet.time
        guard time > limit else { continue }
        let when =
          answer == nil ? "The packet was never acknowledged" : "The acknowledgement took \(DurationText.format(time))"
        throw CheckFailure(
          "\(when); the timeout is \(DurationText.format(timeout)).",
          device.proof(packet.index, [WirePacket.Part.sequence]) + device.proof(answer?.index))
      }
    },
    CheckCase(
      311, "packet-no-repetition",
      "On a link without acknowledgements, the accessory acknowledges and retransmits nothing.",
      [.seenOnce], .warning, fix: "If all four recovery values are 0 on both sides, send only data."
    ) { run in
      let device = try run.survey().device
      try run.needLink()
      guard device.isZeroAcknowledgement else { throw CheckSkip("the accessory asks for a link with acknowledgements") }
      var seen: Set<UInt8> = []
      var isUp = false
      try run.eachPacket { packet, header in
        if header.control.contains(.syn) { return nil }
        // The first acknowledgement is allowed, because it answers the SYN+ACK.
        if !packet.isData, isUp { return ("It sent an acknowledgement.", WirePacket.Part.control) }
        isUp = true
        if packet.isData, !seen.insert(header.sequence).inserted, seen.count < 200 {
          return ("It repeated \(Hex.number(header.sequence)).", WirePacket.Part.sequence)
        }
        return nil
      }
    },
    CheckCase(
      312, "message-framing",
      "Control messages begin with 40 40 and their length, and contain only complete parameters.",
      [.agreed, .captured],
      fix: "Send 40 40, the whole message's length and its number, then each parameter with its length, number and "
        + "value."
    ) { run in
      let device = try run.survey().device
      if let problem = device.framingProblems.first(where: { !$0.text.hasPrefix("a second") }) {
        throw CheckFailure("A message cannot be read: \(problem.text).", device.proof(problem.packet, [9..<15]))
      }
      for received in device.messages {
        do throws(ParameterError) { _ = try ParameterReader.read(received.message.body) } catch {
          let at = PacketHeader.size + ControlMessage.headerSize + error.offset
          throw CheckFailure(
            "\(received.message.id): \(error).", device.proof(received.packet, [at..<at + max(4, error.bytes.count)]))
        }
      }
    },
    CheckCase(
      313, "message-alone", "Each control message is sent in its own packet.", [.inferred], .warning,
      fix: "Begin a new packet for each control message: some devices read only the first message in a packet."
    ) { run in
      let device = try run.survey().device
      if let problem = device.framingProblems.first(where: { $0.text.hasPrefix("a second") }) {
        throw CheckFailure("A packet carries more than one control message.", device.proof(problem.packet))
      }
    },
    CheckCase(
      314, "message-declared", "The accessory sends no message that its identification does not list.", [.agreed],
      .warning, fix: "Add the message to parameter 6 of the identification; devices ignore undeclared messages."
    ) { run in
      let declared = Set(try run.identification().messagesSent)
      let device = try run.survey().device
      for received in device.messages {
        let id = received.message.id
        if [0x1D, 0xAA].contains(id.rawValue >> 8) || declared.contains(id) { continue }
        // Case 315 covers messages in the wrong direction.
        if MessageCatalog.entry(id)?.sender == .device { continue }
        throw CheckFailure("\(id) is not listed.", device.proof(received.packet, [13..<15]))
      }
    },
    CheckCase(
      315, "message-direction", "The accessory sends no message that only a device sends.", [.agreed],
      fix: "Do not send this message; check the direction in the message table."
    ) { run in
      let device = try run.survey().device
      for received in device.messages where MessageCatalog.entry(received.message.id)?.sender == .device {
        throw CheckFailure("\(received.message.id) is the device's.", device.proof(received.packet, [13..<15]))
      }
    },
    CheckCase(
      316, "packet-acknowledges-forward", "Acknowledgement numbers never go backwards.", [.agreed],
      fix: "In every packet, including retransmissions, acknowledge the last packet received in order."
    ) { run in
      let device = try run.survey().device
      var last: WirePacket?
      for packet in device.record where packet.isFromAccessory {
        guard let header = packet.header, header.control.contains(.ack), !header.control.contains(.syn) else {
          continue
        }
        defer { last = packet }
        guard let before = last, let earlier = before.header else { continue }
        if header.acknowledgement &- earlier.acknowledgement >= 128 {
          throw CheckFailure(
            "\(Hex.number(header.acknowledgement)) came after \(Hex.number(earlier.acknowledgement)).",
            device.proof(before.index, [WirePacket.Part.acknowledgement])
              + device.proof(packet.index, [WirePacket.Part.acknowledgement]))
        }
      }
    },
    CheckCase(
      317, "packet-padding", "Zero bytes between packets are skipped.", [.inferred], .warning,
      fix: "Search the stream for FF 5A and skip zero bytes, which some USB stacks insert."
    ) { run in
      let device = try run.beforeAuthentication()
      let mark = device.record.count
      device.line.send([0, 0, 0, 0])
      try run.expectCertificate(device, "With zero bytes before the packet")
      try run.expectNoRepetition(device, after: mark, "With zero bytes before the packet")
    },
    CheckCase(
      318, "parameter-unknown", "Unknown parameters are ignored.", [.inferred], .warning,
      fix: "Skip unknown parameters by their length, and use the known ones."
    ) { run in
      _ = try run.identification()
      let device = try run.beforeIdentification()
      let mark = device.messages.count
      try device.send(ControlMessage(.startIdentification) { $0.u16(0x00F0, 1) })
      guard try device.awaitMessage([.identificationInformation], after: mark, within: run.stepLimit) != nil else {
        throw CheckFailure(
          "The accessory did not identify itself after a 1D00 with an unknown parameter.", device.lastProof())
      }
    },
    CheckCase(
      319, "message-unknown", "Unknown messages are ignored.", [.inferred], .warning,
      isHostile: true, fix: "Acknowledge the packet and ignore messages with unknown numbers."
    ) { run in
      let device = try run.device(at: .ready)
      try device.send(ControlMessage(MessageID(rawValue: 0x7F00)) { $0.text(0, "easim") })
      try run.expectAcknowledged(device, "an unknown message")
    },
    CheckCase(
      320, "packet-split", "The accessory accepts a packet that arrives byte by byte.", [.agreed],
      fix: "Treat the line as a byte stream: collect bytes until the packet is complete."
    ) { run in
      let device = try run.beforeAuthentication()
      let mark = device.record.count
      try run.expectCertificate(device, "With the packet sent byte by byte", .cut(Array(1..<16)))
      try run.expectNoRepetition(device, after: mark, "In single bytes")
    },
  ]
}

enum CheckBytes {
  /// Returns bytes that count repeatedly from 0 to 255, like the bytes that EADemo sends.
  static func counting(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0) } }

  /// Returns pseudo-random bytes. The same seed always gives the same bytes.
  static func mixed(_ count: Int, seed: UInt64 = 7) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }
}

extension CheckRun {
  /// Returns an attachment on which the accessory has sent many packets or, if it does not echo, at least its
  /// certificate.
  fileprivate func busyDevice(_ configure: CheckDevice.Configuring) throws -> CheckDevice {
    let session: OpenedSession
    do { session = try echoSession(configure) } catch is CheckSkip {
      return try device(at: .authenticated, configure)
    }
    let bytes = CheckBytes.counting(3_000)
    let piece = min(bytes.count, largestPiece(session.device))
    for start in stride(from: 0, to: bytes.count, by: piece) {
      try session.send(Array(bytes[start..<min(start + piece, bytes.count)]))
    }
    _ = try session.device.wait(within: .seconds(3)) { session.received.count >= bytes.count }
    return session.device
  }

  /// Checks the complete packets that the accessory sent during the survey, and throws a failure for the first one that
  /// breaks the rule.
  func eachPacket(_ judge: (WirePacket, PacketHeader) throws -> (String, Range<Int>)?) throws {
    let device = try survey().device
    for packet in device.record where packet.isFromAccessory {
      guard let header = packet.header, let (text, mark) = try judge(packet, header) else { continue }
      throw CheckFailure(text, device.proof(packet.index, [mark]))
    }
  }

  /// Expects the accessory to answer AA00 with exactly one AA01 on this attachment.
  func expectCertificate(
    _ device: CheckDevice, _ condition: String, _ delivery: CheckDevice.Delivery = .whole,
    then disturb: () throws -> Void = {}
  ) throws {
    if let shortfall = try survey().shortfall, shortfall.judgedBy <= 501 { throw skip(shortfall) }
    let mark = device.record.count
    let before = device.messages.count
    try device.send(ControlMessage(.requestAuthenticationCertificate), delivery)
    try disturb()
    switch try awaitCount(of: .authenticationCertificate, device, before) {
    case 1: return
    case 0:
      let end = device.line.isOpen ? "" : ": \(device.endText)"
      throw CheckFailure("\(condition), AA00 was not answered\(end).", device.proof(from: mark))
    case let count:
      throw CheckFailure("\(condition), one AA00 was answered \(count) times.", device.proof(from: mark))
    }
  }

  /// Throws a failure if the device had to retransmit a packet, for example because the accessory understands only
  /// packets that arrive in one piece.
  func expectNoRepetition(_ device: CheckDevice, after mark: Int, _ condition: String) throws {
    guard let again = device.record[mark...].first(where: { !$0.isFromAccessory && $0.remark == CheckDevice.sentAgain })
    else { return }
    throw CheckFailure(
      "\(condition), a packet was understood only when it was retransmitted.", device.proof(mark..<again.index + 1))
  }

  /// Expects the accessory to acknowledge everything that was sent and to stay connected.
  func expectAcknowledged(_ device: CheckDevice, _ what: String) throws {
    let mark = max(0, device.record.count - 2)
    let came = try device.wait(within: stepLimit) { device.inFlight == 0 }
    if came { _ = try device.wait(within: settings.quiet) { !device.line.isOpen } }
    guard device.line.isOpen else {
      throw CheckFailure("After \(what): \(device.endText).", device.proof(from: mark))
    }
    if !came { throw CheckFailure("\(what) was not acknowledged.", device.proof(from: mark)) }
  }
}
