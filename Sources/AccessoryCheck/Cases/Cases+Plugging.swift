import AccessoryCore
import IAP2

extension CheckCase {
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
