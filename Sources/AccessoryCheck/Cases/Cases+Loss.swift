import AccessoryFormats
import IAP2

extension CheckCase {
  static let loss: [CheckCase] = [
    CheckCase(
      401, "lost-packet", "After a lost packet, later packets are delivered only once the lost packet has arrived.",
      [.agreed], fix: "Keep or drop packets that arrive after a missing one; deliver packets in numerical order."
    ) { run in
      let device = try run.undecided(run.recovering)
      let (mark, before) = (device.record.count, device.messages.count)
      device.configuration.repeats = false
      try device.send(ControlMessage(.authenticationSucceeded), .lost)
      try device.send(ControlMessage(.startIdentification))
      try device.pump.pause(.milliseconds(300))
      device.configuration.repeats = true
      if device.messages[before...].contains(where: { $0.message.id == .identificationInformation }) {
        throw CheckFailure("1D00 was answered before the preceding AA05 had arrived.", device.proof(from: mark))
      }
      device.repeatAll()
      try run.expectOne(.identificationInformation, device, before, mark, "After AA05 was lost and retransmitted")
    },
    CheckCase(
      402, "reordered-packets", "Packets that arrive out of order are put back in order.", [.agreed], .warning,
      fix: "Keep packets that arrive early, or drop them and wait for their retransmission."
    ) { run in
      let device = try run.undecided(run.recovering)
      let (mark, before) = (device.record.count, device.messages.count)
      try device.send(ControlMessage(.authenticationSucceeded), .held)
      try device.send(ControlMessage(.startIdentification), .held)
      device.releaseGlued(order: [1, 0])
      try run.expectOne(.identificationInformation, device, before, mark, "When 1D00 overtakes AA05")
    },
    CheckCase(
      403, "repeats-unacknowledged", "An unacknowledged packet is retransmitted with the same sequence number.",
      [.agreed], .warning,
      fix: "Keep each packet until it is acknowledged, and retransmit it when the retransmission timeout expires."
    ) { run in
      let (device, copies) = try run.unacknowledgedCertificate()
      guard copies.count > 1 else {
        throw CheckFailure(
          "The unacknowledged packet was not retransmitted within \(DurationText.format(run.patience(device))).",
          device.proof(copies.first?.index))
      }
      if copies[0].payload != copies[1].payload {
        throw CheckFailure("Its payload changed.", copies.prefix(2).flatMap { device.proof($0.index) })
      }
    },
    CheckCase(
      404, "repeats-not-too-early", "Packets are not retransmitted before half the retransmission timeout has passed.",
      [.agreed], .warning, fix: "Wait for the SYN's retransmission timeout before retransmitting a packet."
    ) { run in
      try run.expectRetransmission { time, timeout in time >= timeout / 2 }
    },
    CheckCase(
      405, "gives-up", "After the maximum number of retransmissions, the accessory starts over or disconnects.",
      [.agreed], .warning,
      fix: "Count each packet's retransmissions; when the SYN's maximum is reached, return to detection."
    ) { run in
      let surrender = try run.surrender()
      if !surrender.hasGivenUp {
        throw CheckFailure(
          "The accessory did neither within \(DurationText.format(surrender.limit)).", surrender.device.lastProof(8))
      }
    },
    CheckCase(
      406, "repeats-on-time", "A packet is retransmitted when the SYN's retransmission timeout expires.", [.agreed],
      .warning, fix: "For every packet, use the retransmission timeout from the SYN and SYN+ACK."
    ) { run in
      try run.expectRetransmission { time, timeout in time <= timeout * 3 / 2 + .milliseconds(100) }
    },
    CheckCase(
      407, "duplicate-once", "A packet that arrives twice is delivered once.", [.agreed],
      fix: "Drop packets whose sequence number was already delivered."
    ) { run in
      try run.expectCertificate(run.recovering(), "With the packet sent twice", .twice)
    },
    CheckCase(
      408, "duplicate-late", "A packet that arrives again later is acknowledged again but not delivered again.",
      [.agreed], fix: "Drop packets whose sequence number was already delivered, and acknowledge them at once."
    ) { run in
      let device = try run.recovering()
      let at = device.record.count
      try run.expectCertificate(device, "Sent once")
      let (mark, before) = (device.record.count, device.messages.count)
      guard let old = device.record[at...].first(where: { !$0.isFromAccessory && $0.isData }) else { return }
      device.line.send(old.bytes, as: old.kind, remark: "sent again on purpose")
      let acknowledged = try device.wait(within: device.acknowledgementTimeout + .seconds(1)) {
        device.record[mark...].contains { $0.isFromAccessory && $0.header?.control.contains(.ack) ?? false }
      }
      _ = try device.wait(within: run.settings.quiet) { device.messages.count > before }
      if device.messages.count > before {
        throw CheckFailure("It was delivered again.", device.proof(from: mark))
      }
      if !acknowledged {
        throw CheckFailure(
          "The packet was not acknowledged again: a device that missed the acknowledgement would keep retransmitting.",
          device.proof(from: mark))
      }
    },
    CheckCase(
      409, "corrupt-payload", "A packet with a wrong payload checksum is dropped, and its retransmission is accepted.",
      [.agreed], fix: "Do not acknowledge a packet with a wrong payload checksum; the device retransmits it."
    ) { run in
      try run.expectRepair(.corruptPayload)
    },
    CheckCase(
      410, "corrupt-header", "A packet with a wrong header checksum is skipped, and the next one is found.",
      [.agreed], fix: "If a header checksum is wrong, continue searching for FF 5A from the next byte."
    ) { run in
      try run.expectRepair(.corruptHeader)
    },
    CheckCase(
      411, "noise", "Stray bytes between packets are skipped.", [.agreed], .warning,
      fix: "Search the stream for FF 5A with a correct header checksum, one byte at a time."
    ) { run in
      let device = try run.recovering()
      device.line.send([0x13, 0xFF, 0xA5, 0xFF], remark: "noise on purpose")
      try run.expectCertificate(device, "With noise before the packet")
    },
    CheckCase(
      412, "extended-acknowledgement", "An extended acknowledgement (EAK) does not disrupt the link.", [.inferred],
      .warning, fix: "Read an EAK's payload as sequence numbers; retransmit what is not acknowledged, or ignore it."
    ) { run in
      let device = try run.recovering()
      let number = device.lastInOrder &+ 2
      let header = PacketHeader(
        control: [.eak, .ack], sequence: device.lastSent, acknowledgement: device.lastInOrder, payloadCount: 1)
      device.line.send(header, payload: [number])
      try run.expectCertificate(device, "After an EAK")
    },
    CheckCase(
      413, "idle-survives", "An idle link stays up for 5 s.", [.agreed],
      fix: "Do not end an idle link: iAP2 has no keep-alive."
    ) { run in
      let (device, _) = try run.idle()
      guard device.line.isOpen else { throw CheckFailure("The cable ended: \(device.endText).", device.lastProof()) }
      if device.record.last(where: \.isFromAccessory)?.kind == .detection {
        throw CheckFailure("The accessory began anew.", device.lastProof())
      }
    },
    CheckCase(
      414, "idle-silent", "On an idle link, the accessory sends no acknowledgements or other link packets.",
      [.inferred],
      .warning, fix: "Acknowledge each packet once; otherwise send nothing."
    ) { run in
      let (device, mark) = try run.idle()
      let packets = device.record[mark...].filter { $0.isFromAccessory && $0.header != nil && !$0.isData }
      let needless = packets.filter { packet in
        // The accessory may acknowledge data that the device sent in the meantime.
        !device.record[mark..<packet.index].contains { !$0.isFromAccessory && $0.isData }
      }
      if let first = needless.first {
        throw CheckFailure(
          "The accessory sent \(needless.count.counted("such packet")) in 4 s.", device.proof(first.index))
      }
    },
    CheckCase(
      415, "acknowledgements-withheld", "Data arrives complete even if acknowledgements were withheld for a while.",
      [.inferred], fix: "Keep unacknowledged data, and resume sending once acknowledgements arrive again."
    ) { run in
      let session = try run.echoSession()
      let device = session.device
      if device.isZeroAcknowledgement { throw CheckSkip(CheckRun.zeroAcknowledgement) }
      let bytes = CheckBytes.mixed(6_000)
      let mark = device.record.count
      device.configuration.acknowledges = false
      for start in stride(from: 0, to: bytes.count, by: 200) {
        try session.send(Array(bytes[start..<start + 200]))
      }
      try device.pump.pause(device.retransmissionTimeout + .milliseconds(500))
      device.configuration.acknowledges = true
      device.acknowledge()
      try run.expect(bytes, on: session, after: 0, mark: mark)
    },
    CheckCase(
      416, "gives-up-too-early", "The accessory does not give up before the maximum number of retransmissions.",
      [.agreed], .warning, fix: "Retransmit a packet as often as the SYN specifies before you treat the link as lost."
    ) { run in
      let surrender = try run.surrender()
      let most = Int(surrender.device.answer.maximumRetransmissions)
      guard surrender.hasGivenUp, surrender.copies.count - 1 < most else { return }
      throw CheckFailure(
        "The accessory gave up after \((surrender.copies.count - 1).counted("retransmission")); the SYN specifies "
          + "\(most).",
        surrender.device.proof(surrender.copies[0].index) + surrender.device.lastProof(4))
    },
  ]
}

/// What the accessory did when the device never acknowledged the accessory's first packet.
struct Surrender {
  let device: CheckDevice
  let copies: [WirePacket]
  /// Whether the accessory restarted the link or disconnected before `limit` had passed.
  let hasGivenUp: Bool
  let limit: Duration
}

extension CheckRun {
  func surrender() throws -> Surrender {
    if let knownSurrender { return knownSurrender }
    let device = try recovering()
    let answer = device.answer
    let time = device.retransmissionTimeout * (Int(answer.maximumRetransmissions) + 1)
    guard time <= .seconds(20) else {
      throw CheckSkip(
        "the case would take \(DurationText.format(time)): \(answer.maximumRetransmissions) retransmissions, "
          + "\(answer.retransmissionTimeout) ms apart")
    }
    device.configuration.acknowledges = false
    device.configuration.answersDetection = false
    device.configuration.answersSynchronization = false
    let mark = device.record.count
    try device.send(ControlMessage(.requestAuthenticationCertificate))
    func copies() -> [WirePacket] { device.copiesOfFirstData(after: mark) }
    let limit = time + .seconds(10)
    let hasGivenUp = try device.wait(within: limit) {
      !device.line.isOpen
        || device.record[mark...].contains {
          $0.isFromAccessory && ($0.kind == .detection || $0.header?.control.contains(.syn) ?? false)
        }
    }
    guard !copies().isEmpty else {
      throw CheckSkip("the accessory sent nothing whose acknowledgement could be withheld (case 501)")
    }
    let surrender = Surrender(device: device, copies: copies(), hasGivenUp: hasGivenUp, limit: limit)
    knownSurrender = surrender
    return surrender
  }

  func recovering() throws -> CheckDevice {
    let device = try beforeAuthentication()
    if device.isZeroAcknowledgement { throw CheckSkip(Self.zeroAcknowledgement) }
    return device
  }

  func needWindow(_ device: CheckDevice) throws {
    if device.offer?.maximumOutstandingPackets ?? 1 < 2 {
      throw CheckSkip("the case sends two packets at once, but the accessory's SYN allows only one")
    }
  }

  /// Returns a device from `linked` that has received the accessory's signature but has not reported the result.
  func undecided(_ linked: () throws -> CheckDevice) throws -> CheckDevice {
    try needAuthenticationFirst()
    _ = try identification()
    let device = try linked()
    try needWindow(device)
    try upToVerdict(device)
    return device
  }

  /// Performs authentication until the accessory has sent its signature, without reporting the result.
  func upToVerdict(_ device: CheckDevice) throws {
    try orSkip {
      let certificate = try device.certificate(within: stepLimit)
      _ = try device.response(to: device.challenge(for: certificate.bytes, verifier), within: stepLimit)
    }
  }

  func expectOne(
    _ id: MessageID, _ device: CheckDevice, _ before: Int, _ mark: Int, _ condition: String
  ) throws {
    let count = try awaitCount(of: id, device, before)
    guard count != 1 else { return }
    let what = count == 0 ? "did not arrive" : "arrived \(count) times"
    throw CheckFailure("\(condition), \(id) \(what).", device.proof(from: mark))
  }

  /// Waits for a message after the first `before` ones, then briefly for more, and returns how many have arrived.
  func awaitCount(of id: MessageID, _ device: CheckDevice, _ before: Int) throws -> Int {
    guard try device.awaitMessage([id], after: before, within: stepLimit) != nil else { return 0 }
    _ = try device.wait(within: settings.quiet) { false }
    return device.messages[before...].count { $0.message.id == id }
  }

  func patience(_ device: CheckDevice) -> Duration {
    min(device.retransmissionTimeout * 2 + .seconds(1), .seconds(15))
  }

  /// Returns an attachment whose device never acknowledges the accessory's certificate, along with all copies of the
  /// certificate's first packet.
  func unacknowledgedCertificate() throws -> (CheckDevice, [WirePacket]) {
    if let knownCopies { return knownCopies }
    let device = try recovering()
    let mark = device.record.count
    device.configuration.loses = { $0.isData }
    try device.send(ControlMessage(.requestAuthenticationCertificate))
    func copies() -> [WirePacket] { device.copiesOfFirstData(after: mark) }
    guard try device.wait(within: stepLimit, until: { !copies().isEmpty }) else {
      throw CheckSkip("the accessory sent nothing whose acknowledgement could be withheld (case 501)")
    }
    _ = try device.wait(within: patience(device)) { copies().count > 1 }
    knownCopies = (device, copies())
    return (device, copies())
  }

  /// Throws a failure unless `isInTime` accepts the delay before the first retransmission.
  fileprivate func expectRetransmission(_ isInTime: (_ time: Duration, _ timeout: Duration) -> Bool) throws {
    let (device, copies) = try unacknowledgedCertificate()
    guard copies.count > 1 else { throw CheckSkip("nothing was retransmitted (case 403)") }
    let (time, timeout) = (copies[1].time - copies[0].time, device.retransmissionTimeout)
    guard !isInTime(time, timeout) else { return }
    throw CheckFailure(
      "The packet was retransmitted after \(DurationText.format(time)); the timeout is "
        + "\(DurationText.format(timeout)).",
      copies.prefix(2).flatMap { device.proof($0.index) })
  }

  /// Damages AA00 in transit. Expects the accessory to acknowledge only the retransmitted copy.
  func expectRepair(_ delivery: CheckDevice.Delivery) throws {
    let device = try recovering()
    let mark = device.record.count
    device.configuration.repeats = false
    try expectCertificate(device, "After the damaged packet was retransmitted", delivery) {
      try device.pump.pause(.milliseconds(300))
      device.configuration.repeats = true
      guard device.inFlight > 0 else {
        throw CheckFailure("The damaged packet was acknowledged.", device.proof(from: mark))
      }
      device.repeatAll()
    }
  }

  /// Returns an attachment that has been idle for 5 s, and the length of its record after the first second.
  func idle() throws -> (CheckDevice, Int) {
    if let knownIdle { return knownIdle }
    let device = try device(at: .ready)
    _ = try device.wait(within: .seconds(1)) { !device.line.isOpen }
    let mark = device.record.count
    _ = try device.wait(within: .seconds(4)) { !device.line.isOpen }
    knownIdle = (device, mark)
    return (device, mark)
  }
}

extension CheckDevice {
  fileprivate func copiesOfFirstData(after mark: Int) -> [WirePacket] {
    let all = record[mark...].filter { $0.isFromAccessory && $0.isData }
    return all.filter { $0.header?.sequence == all[0].header?.sequence }
  }
}
