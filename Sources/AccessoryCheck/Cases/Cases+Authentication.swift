import AccessoryFormats
import Certificates
import IAP2

extension CheckCase {
  static let authentication: [CheckCase] = [
    CheckCase(
      501, "certificate", "The accessory answers AA00 with AA01 and a certificate.", [.agreed],
      fix: "Read the certificate from the authentication coprocessor and send it in parameter 0 of AA01."
    ) { run in
      let survey = try run.survey(judging: 501)
      guard let authentication = survey.authentication else { return }
      if authentication.certificate.isEmpty {
        throw CheckFailure("AA01 has no certificate.", survey.device.proof(authentication.certificateMessage.packet))
      }
    },
    CheckCase(
      502, "certificate-form", "The certificate is a complete PKCS#7 SignedData structure.", [.agreed],
      fix: "Send the contents of the coprocessor's certificate registers, complete and unchanged."
    ) { run in
      let (device, authentication) = try run.authentication()
      do throws(AuthenticatorError) { _ = try run.verifier.challenge(for: authentication.certificate) } catch {
        throw CheckFailure("\(error).", device.proof(authentication.certificateMessage.packet, [19..<35]))
      }
    },
    CheckCase(
      503, "certificate-prompt", "The certificate arrives within 3 s.", [.inferred], .warning,
      fix: "Read the certificate before the cable is plugged in; the coprocessor can provide it at any time."
    ) { run in
      let (device, authentication) = try run.authentication()
      try run.expectPrompt(device, .requestAuthenticationCertificate, authentication.certificateMessage, .seconds(3))
    },
    CheckCase(
      504, "signature", "The accessory answers AA02 with AA03 and a signature.", [.agreed],
      fix: "Have the coprocessor sign the challenge and send the response in parameter 0 of AA03."
    ) { run in
      _ = try run.survey(judging: 504)
    },
    CheckCase(
      505, "signature-size",
      "The signature is 128 bytes long for a 2.0 coprocessor and 64 bytes for a 3.0 coprocessor.", [.agreed],
      fix: "Send as many bytes as the coprocessor's response length register states."
    ) { run in
      let (device, authentication) = try run.readableAuthentication()
      let size = authentication.challenge.count == 20 ? 128 : 64
      if authentication.response.count != size {
        throw CheckFailure(
          "The signature has \(authentication.response.count) bytes instead of \(size).",
          device.proof(authentication.responseMessage.packet, [15..<17]))
      }
    },
    CheckCase(
      506, "signature-right", "The signature is valid for the challenge and the certificate's key.", [.agreed],
      fix: "Write the unchanged challenge to the coprocessor, wait until it has signed, and send its response."
    ) { run in
      let (device, authentication) = try run.readableAuthentication()
      if let reason = run.objection(to: authentication) {
        throw CheckFailure(
          "The signature does not verify: \(reason).",
          device.proof(authentication.responseMessage.packet, [19..<19 + authentication.response.count]))
      }
    },
    CheckCase(
      507, "signature-fresh", "Each challenge gets a new signature.", [.agreed],
      fix: "Have the coprocessor sign each challenge; do not reuse a response."
    ) { run in
      let (_, first) = try run.authentication()
      if run.objection(to: first) != nil { throw CheckSkip("the first signature does not verify (case 506)") }
      let device = try run.beforeAuthentication()
      let second = try run.orSkip { try device.authenticate(run.verifier, within: run.stepLimit) }
      if let reason = run.objection(to: second) {
        throw CheckFailure(
          "The signature of a second challenge does not verify: \(reason).",
          device.proof(second.responseMessage.packet, [19..<19 + second.response.count]))
      }
    },
    CheckCase(
      508, "signature-prompt", "The signature arrives within 4 s.", [.inferred], .warning,
      fix: "Pass the challenge to the coprocessor at once: it signs within 1,645 ms (2.0B) or 440 ms."
    ) { run in
      let (device, authentication) = try run.authentication()
      try run.expectPrompt(device, .requestAuthenticationChallengeResponse, authentication.responseMessage, .seconds(4))
    },
    CheckCase(
      509, "authentication-unasked", "Certificates and signatures are sent once per request.", [.agreed],
      .warning, fix: "Send AA01 and AA03 only in answer to AA00 and AA02, once each."
    ) { run in
      let device = try run.survey().device
      for id in [MessageID.authenticationCertificate, .authenticationResponse] {
        let all = device.messages.filter { $0.message.id == id }
        if all.count > 1 {
          throw CheckFailure("\(id) was sent \(all.count) times.", all.flatMap { device.proof($0.packet, [13..<15]) })
        }
      }
    },
    CheckCase(
      510, "identification-first", "A device may request identification before authentication.",
      [.agreed], fix: "Answer AA00, AA02 and 1D00 in whatever order the device asks."
    ) { run in
      _ = try run.authentication()
      _ = try run.identification()
      let device = try run.device(at: .linked)
      do {
        _ = try device.identify(within: run.stepLimit)
        _ = try device.authenticate(run.verifier, within: run.stepLimit)
      } catch let short as Shortfall {
        throw CheckFailure("When asked for its identification first: \(short.reason).", device.lastProof(8))
      }
    },
    CheckCase(
      511, "authentication-skipped", "A host that never authenticates can identify the accessory.", [.seenOnce], .note,
      fix: "Answer 1D00 whenever it arrives, even before authentication."
    ) { run in
      _ = try run.identification()
      let device = try run.device(at: .linked)
      do { _ = try device.identify(within: run.stepLimit) } catch let short as Shortfall {
        throw CheckFailure("Without authentication: \(short.reason).", device.lastProof(8))
      }
    },
    CheckCase(
      512, "authentication-glued", "The accessory handles AA05 and 1D00 that arrive in one write.", [.agreed],
      fix: "Read all packets in a transfer, not only the first."
    ) { run in
      let device = try run.undecided { try run.device(at: .linked) }
      let (mark, before) = (device.record.count, device.messages.count)
      try device.send(ControlMessage(.authenticationSucceeded), .held)
      try device.send(ControlMessage(.startIdentification), .held)
      device.releaseGlued()
      try run.expectOne(.identificationInformation, device, before, mark, "With AA05 and 1D00 in one write")
      try run.expectNoRepetition(device, after: mark, "In one write")
    },
    CheckCase(
      513, "authentication-failed",
      "After a failed authentication (AA04), the accessory works again once it is unplugged and plugged back in.",
      [.seenOnce], fix: "On AA04, wait until the cable is pulled, then start over."
    ) { run in
      _ = try run.identification()
      let device = try run.beforeAuthentication()
      try run.upToVerdict(device)
      try device.send(ControlMessage(.authenticationFailed))
      _ = try device.wait(within: run.settings.quiet) { false }
      try run.expectReady("When plugged in again after AA04")
    },
    CheckCase(
      514, "certificate-again", "A second AA00 on the same link is also answered.", [.inferred], .note,
      fix: "Answer each AA00 with the certificate, even after AA05."
    ) { run in
      let device = try run.device(at: .authenticated)
      try run.expectCertificate(device, "Asked again after AA05")
    },
    CheckCase(
      515, "challenge-without-certificate", "A challenge that precedes the certificate request has no lasting effect.",
      [.inferred], .warning, isHostile: true, fix: "Answer AA02 whenever it arrives, or ignore it."
    ) { run in
      _ = try run.identification()
      let device = try run.device(at: .linked)
      try device.send(ControlMessage(.requestAuthenticationChallengeResponse) { $0.blob(0, CheckBytes.mixed(32)) })
      _ = try device.wait(within: .seconds(2)) { false }
      try run.expectReady("When plugged in again after an out-of-turn challenge")
    },
    CheckCase(
      516, "authentication-first", "A device may request authentication before identification.", [.agreed], .warning,
      fix: "Answer AA00 as soon as the link is up; some Apple devices send AA00 first, others 1D00."
    ) { run in
      _ = try run.survey()
      if run.settings.order == .identification { throw CheckSkip("--order identification was given") }
      guard run.order == .identificationFirst, let failure = run.refusedOrder else { return }
      throw CheckFailure("When asked to authenticate first: \(failure.text)", failure.proof)
    },
  ]
}

extension CheckRun {
  /// Returns the authentication that was recorded during the survey. Skips the case if the certificate is unreadable.
  func readableAuthentication() throws -> (CheckDevice, Authentication) {
    let found = try authentication()
    do throws(AuthenticatorError) { _ = try verifier.challenge(for: found.1.certificate) } catch {
      throw CheckSkip("the certificate cannot be read (case 502)")
    }
    return found
  }

  /// Returns the survey. Throws a failure if the accessory did not take the step that case `number` judges.
  func survey(judging number: Int) throws -> Survey {
    let survey = try survey()
    guard let shortfall = survey.shortfall else { return survey }
    guard shortfall.judgedBy == number else {
      if shortfall.judgedBy < number { throw skip(shortfall) }
      return survey
    }
    throw CheckFailure(Self.sentence(shortfall.reason), survey.device.lastProof())
  }

  static func sentence(_ fragment: String) -> String { fragment.prefix(1).uppercased() + fragment.dropFirst() + "." }

  func authentication() throws -> (CheckDevice, Authentication) {
    let survey = try survey()
    if let found = survey.authentication { return (survey.device, found) }
    if let shortfall = survey.shortfall { throw skip(shortfall) }
    throw CheckSkip("the accessory did not authenticate")
  }

  func objection(to authentication: Authentication) -> String? {
    let verdict = verifier.judge(
      response: authentication.response, to: authentication.challenge, certificate: authentication.certificate)
    if case .refused(let reason) = verdict { return "\(reason)" }
    return nil
  }

  func expectPrompt(
    _ device: CheckDevice, _ request: MessageID, _ answer: CheckDevice.Received, _ limit: Duration
  )
    throws
  {
    let asked = device.record[..<answer.packet].last { packet in
      !packet.isFromAccessory && packet.isData && packet.payload.count >= 6
        && packet.payload.dropFirst(4).prefix(2).elementsEqual([
          UInt8(request.rawValue >> 8), UInt8(request.rawValue & 0xFF),
        ])
    }
    guard let asked else { return }
    let time = answer.time - asked.time
    if time > limit {
      throw CheckFailure(
        "The answer arrived after \(DurationText.format(time)).",
        device.proof(asked.index) + device.proof(answer.packet))
    }
  }
}
