import AccessoryCore
import AccessoryFormats
import IAP2

extension CheckCase {
  static let detection: [CheckCase] = [
    CheckCase(
      101, "detection-first", "The accessory begins with the detection sequence FF 55 02 00 EE 10.", [.agreed],
      fix: "Send FF 55 02 00 EE 10 as soon as the cable is plugged in, and nothing before it."
    ) { run in
      let device = try run.survey().departures.first?.device ?? run.survey().device
      guard let first = device.record.first(where: \.isFromAccessory) else {
        throw CheckFailure(
          "The accessory sent nothing within \(DurationText.format(run.stepLimit)).", device.lastProof())
      }
      guard first.kind != .detection else { return }
      let marks = [0..<first.bytes.count]
      throw CheckFailure("The first bytes are not the detection sequence.", device.proof(first.index, marks))
    },
    CheckCase(
      102, "detection-repeat", "The accessory repeats the detection sequence until it is answered.", [.agreed],
      fix: "Send the detection sequence again every second until the Apple device answers."
    ) { run in
      // The interval is not checked, because the accessory's clock and this machine's clock may differ by 10 %.
      let device = try run.unanswered()
      let probes = device.record.filter { $0.isFromAccessory && $0.kind == .detection }
      if probes.isEmpty { throw CheckSkip("the accessory never sent the detection sequence (case 101)") }
      if probes.count < 2 {
        let time = DurationText.format(CheckRun.unansweredTime)
        throw CheckFailure("The unanswered sequence was sent only once in \(time).", device.proof(probes[0].index))
      }
    },
    CheckCase(
      103, "detection-pace", "Detection sequences are at least 100 ms apart.", [.inferred], .warning,
      fix: "Wait about a second between two detection sequences; the shortest interval observed is 475 ms."
    ) { run in
      let device = try run.unanswered()
      let probes = device.record.filter { $0.isFromAccessory && $0.kind == .detection }
      for (one, next) in zip(probes, probes.dropFirst()) where next.time - one.time < .milliseconds(90) {
        throw CheckFailure(
          "Two detection sequences are \(DurationText.format(next.time - one.time)) apart.",
          device.proof(one.index) + device.proof(next.index))
      }
    },
    CheckCase(
      104, "detection-late", "A link is established even if the device takes seconds to answer detection.", [.agreed],
      fix: "Continue detection while the cable is plugged in, and accept an answer whenever it arrives."
    ) { run in
      try run.needLink()
      let device = try run.device(at: .attached) { $0.answersDetection = false }
      _ = try device.wait(within: .milliseconds(3_500)) { false }
      device.configuration.answersDetection = true
      try run.expectLink(device)
    },
    CheckCase(
      105, "detection-extra",
      "Detection sequences that arrive between the answer and the SYN+ACK are ignored.", [.agreed],
      fix: "After the first answer to detection, ignore detection sequences until the SYN+ACK has arrived."
    ) { run in
      try run.needLink()
      let device = try run.device(at: .attached) {
        $0.detectionAnswer = PacketWriter.detection + PacketWriter.detection + PacketWriter.detection
      }
      try run.expectLink(device)
    },
    CheckCase(
      106, "detection-split", "The accessory understands a detection answer that arrives byte by byte.", [.agreed],
      fix: "Treat the line as a byte stream: collect bytes until the sequence is complete."
    ) { run in
      try run.answerDetection { device in
        try device.sendSlowly(PacketWriter.detection, .detection, cuts: [1, 2, 3, 4, 5])
      }
    },
    CheckCase(
      107, "detection-padding", "Zero bytes before the answer to detection are skipped.", [.inferred], .note,
      fix: "Search the stream for FF 55 and FF 5A, and skip anything before them."
    ) { run in
      try run.answerDetection { device in device.line.send([0, 0, 0] + PacketWriter.detection) }
    },
    CheckCase(
      108, "syn-after-answer", "The accessory sends its SYN soon after detection is answered.", [.agreed],
      fix: "Send a SYN as soon as the detection sequence is returned."
    ) { run in
      let survey = try run.survey()
      let device = survey.device
      guard let answered = device.record.first(where: { !$0.isFromAccessory }) else {
        throw CheckSkip("the accessory never sent the detection sequence (case 101)")
      }
      guard let synchronization = device.offerPacket else {
        throw CheckFailure("No SYN arrived after the answer.", device.lastProof())
      }
      let time = device.record[synchronization].time - answered.time
      if time > .seconds(2) {
        throw CheckFailure(
          "The SYN arrived \(DurationText.format(time)) after the answer.",
          device.proof(answered.index) + device.proof(synchronization))
      }
    },
    CheckCase(
      109, "syn-not-before-answer", "The accessory sends no SYN before detection is answered.", [.agreed],
      .warning, fix: "Wait for the detection sequence from the Apple device before the first SYN."
    ) { run in
      let device = try run.unanswered()
      if let index = device.offerPacket {
        throw CheckFailure(
          "A SYN arrived before detection was answered.", device.proof(index, [WirePacket.Part.control]))
      }
    },
    CheckCase(
      110, "legacy-device", "The accessory sends no SYN to a device that speaks only iAP1 and refuses detection.",
      [.seenOnce], .note,
      fix: "When FF 55 04 00 02 04 EE 08 answers the detection sequence, do not start iAP2."
    ) { run in
      let device = try run.device(at: .attached) {
        $0.detectionAnswer = [0xFF, 0x55, 0x04, 0x00, 0x02, 0x04, 0xEE, 0x08]
      }
      _ = try device.wait(within: .seconds(3)) { device.offerPacket != nil }
      if let index = device.offerPacket { throw CheckFailure("It sent a SYN.", device.proof(0..<index + 1)) }
    },
  ]

  static let plugging: [CheckCase] = [
    replug(901, "replug-at-once", "immediately after being plugged in") { run in
      _ = try run.device(at: .attached)
    },
    replug(902, "replug-in-detection", "right after the answer to detection") { run in
      let device = try run.device(at: .attached) { $0.answersSynchronization = false }
      _ = try device.wait(within: run.stepLimit) { device.offer != nil }
    },
    replug(903, "replug-linked", "just after the link came up") { run in _ = try run.device(at: .linked) },
    replug(904, "replug-in-authentication", "during authentication") { run in
      let device = try run.beforeAuthentication()
      let certificate = try run.orSkip { try device.certificate(within: run.stepLimit) }
      let challenge = device.challenge(for: certificate.bytes, run.verifier)
      try device.send(ControlMessage(.requestAuthenticationChallengeResponse) { $0.blob(0, challenge) })
    },
    replug(905, "replug-in-identification", "during identification") { run in
      try run.beforeIdentification().send(ControlMessage(.startIdentification))
    },
    replug(906, "replug-ready", "after becoming ready") { run in _ = try run.device(at: .ready) },
    replug(907, "replug-in-session", "while an open session has data in flight") { run in
      let session = try run.session()
      for _ in 0..<4 { try session.send(CheckBytes.mixed(min(50, run.largestPiece(session.device)))) }
    },
    replug(908, "replug-in-packet", "in the middle of a packet") { run in
      let device = try run.device(at: .linked)
      let message = ControlMessage(.requestAuthenticationCertificate).encoded
      let header = PacketHeader(
        control: .ack, sequence: device.lastSent &+ 1, acknowledgement: device.lastInOrder,
        session: device.controlSession, payloadCount: message.count)
      device.line.send(Array(PacketWriter.packet(header, payload: message).prefix(12)), remark: "half a packet")
      _ = try device.wait(within: .milliseconds(100)) { false }
    },
    CheckCase(
      909, "comes-back",
      "The accessory comes back each time the cable is pulled and plugged in again, no matter what it was doing.",
      [.inferred], fix: "When the cable is pulled, close the connection at this end, and wait for the next one."
    ) { run in
      if let absence = run.absence { throw absence }
    },
    CheckCase(
      910, "slow-device", "The accessory tolerates a device that pauses for 3 s between steps.", [.inferred], .warning,
      fix: "As long as the cable is plugged in, wait for the device's next message."
    ) { run in
      _ = try run.identification()
      let device = try run.device(at: .linked)
      do {
        let steps = [
          { _ = try device.authenticate(run.verifier, within: run.stepLimit) },
          { _ = try device.identify(within: run.stepLimit) },
        ]
        for step in run.order == .identificationFirst ? steps.reversed() : steps {
          _ = try device.wait(within: .seconds(3)) { !device.line.isOpen }
          try step()
        }
      } catch let short as Shortfall {
        throw CheckFailure("With pauses of 3 s: \(short.reason).", device.lastProof(8))
      }
    },
  ]

  private static func replug(
    _ number: Int, _ name: String, _ phase: String, _ script: @escaping @Sendable (CheckRun) throws -> Void
  ) -> CheckCase {
    CheckCase(
      number, name, "An accessory that is unplugged \(phase) works again once it is plugged back in.",
      [.inferred],
      fix: "When the cable is pulled, discard the link, its sessions and incomplete packets, and start with detection."
    ) { run in
      _ = try run.identification()
      try script(run)
      run.unplugAll()
      try run.expectReady("Plugged in again")
    }
  }
}

extension CheckRun {
  static let unansweredTime = Duration.milliseconds(3_500)

  func unanswered() throws -> CheckDevice {
    if let knownUnanswered { return knownUnanswered }
    let device = try attach { $0.answersDetection = false }
    _ = try device.wait(within: Self.unansweredTime) { false }
    knownUnanswered = device
    return device
  }

  func expectLink(_ device: CheckDevice) throws {
    do { try device.link(within: stepLimit) } catch let short as Shortfall {
      throw CheckFailure("No link came up: \(short.reason).", device.lastProof(10))
    }
  }

  /// Lets the case answer the next detection sequence. Throws a failure unless a link is then established.
  func answerDetection(_ answer: (CheckDevice) throws -> Void) throws {
    let device = try device(at: .attached) { $0.answersDetection = false }
    guard try device.wait(within: stepLimit, until: { device.record.contains { $0.kind == .detection } }) else {
      throw CheckSkip("the accessory never sent the detection sequence (case 101)")
    }
    try needLink()
    try answer(device)
    try expectLink(device)
  }

  func needLink() throws {
    let survey = try survey()
    if survey.reached < .linked, let shortfall = survey.shortfall {
      throw CheckSkip("no link came up: \(shortfall.reason) (case \(shortfall.judgedBy))")
    }
  }

  @discardableResult
  func expectReady(_ what: String, _ configure: CheckDevice.Configuring = { _ in }) throws -> CheckDevice {
    _ = try identification()
    do { return try reach(.ready, configure) } catch let short as Shortfall {
      throw CheckFailure("\(what): \(short.reason).", lastAttached?.lastProof(10) ?? [])
    } catch let absent as AccessoryAbsent where gone == nil {
      throw CheckFailure("\(what), the accessory did not come back: \(absent).", lastAttached?.lastProof(10) ?? [])
    }
  }
}
