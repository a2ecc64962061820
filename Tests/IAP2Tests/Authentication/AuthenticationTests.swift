import IAP2
import Testing

/// Tests authentication (AA00, AA01, AA02, AA03, then AA05 or AA04) before and after identification.
@Suite struct AuthenticationTests {
  private static let certificate = String(repeating: "ce", count: 607)
  private static let challenge = [UInt8](repeating: 0x42, count: 32)
  private static let response = String(repeating: "5e", count: 64)

  private func says(_ sequence: UInt8, _ message: UInt16, _ value: String, ack: UInt8) -> String {
    Sheet.packet(0x40, sequence, ack, session: 1, Sheet.message(message, Sheet.parameter(0, value)))
  }

  // MARK: The device

  @Test func theDeviceAsksChallengesAndConcludes() {
    var end = OneEnd.device()
    _ = end.told()
    #expect(end.receives(says(1, 0xAA01, Self.certificate, ack: 1)) == [])
    #expect(end.told() == [.certificateReceived(Sheet.unhex(Self.certificate))])
    end.peer.challenge(Self.challenge, now: end.now)
    // The packet's payload of 42 bytes consists of a 6-byte message header, a 4-byte parameter header and a 32-byte
    // challenge.
    #expect(
      end.says() == [
        Sheet.packet(0x40, 2, 1, session: 1, "4040002aaa02" + "00240000" + Sheet.hex(Self.challenge))
      ])
    #expect(end.receives(says(2, 0xAA03, Self.response, ack: 2)) == [])
    #expect(end.told() == [.responseReceived(Sheet.unhex(Self.response))])
    end.peer.concludeAuthentication(accepted: true, now: end.now)
    #expect(
      end.says() == [
        Sheet.packet(0x40, 3, 2, session: 1, "40400006aa05"), Sheet.packet(0x40, 4, 2, session: 1, "404000061d00"),
      ])
    #expect(end.told() == [.authenticationSucceeded])
    #expect(end.peer.isReady == false)
  }

  @Test func aResponseThatIsWrongEndsInFailure() {
    var end = OneEnd.device()
    end.receives(says(1, 0xAA01, Self.certificate, ack: 1))
    end.peer.challenge(Self.challenge, now: end.now)
    end.says()
    end.receives(says(2, 0xAA03, Self.response, ack: 2))
    _ = end.told()
    end.peer.concludeAuthentication(accepted: false, now: end.now)
    #expect(end.says() == [Sheet.packet(0x40, 3, 2, session: 1, "40400006aa04")])
    #expect(end.told() == [.authenticationFailed])
    #expect(end.peer.isReady == false)
    // The device requests nothing more and expects no answer.
    end.receives(Sheet.packet(0x40, 2, 3))
    #expect(end.peer.core.deadline == nil)
  }

  @Test func concludingTooEarlyOrTwiceDoesNothing() {
    var end = OneEnd.device()
    end.peer.concludeAuthentication(accepted: true, now: end.now)
    end.peer.challenge([1], now: end.now)
    #expect(end.says() == [])
    end.receives(says(1, 0xAA01, Self.certificate, ack: 1))
    end.peer.concludeAuthentication(accepted: true, now: end.now)
    #expect(end.says() == [])
    end.peer.concludeAuthentication(accepted: false, now: end.now)
    end.peer.concludeAuthentication(accepted: false, now: end.now)
    #expect(end.says() == [Sheet.packet(0x40, 2, 1, session: 1, "40400006aa04")])
  }

  @Test func anAccessoryThatNeverAuthenticatesIsToldOncePerQuestion() {
    var end = OneEnd.device { $0.answerTimeout = 5_000 }
    end.receives(Sheet.packet(0x40, 0, 1))
    _ = end.told()
    end.passes(60_000)
    #expect(end.told() == [.answerTimedOut(.authentication)])
    #expect(end.peer.core.deadline == nil)
    // The late answer is accepted, and the next step has its own time limit.
    end.receives(says(1, 0xAA01, Self.certificate, ack: 1))
    end.peer.challenge(Self.challenge, now: end.now)
    end.says()
    end.receives(Sheet.packet(0x40, 1, 2))
    _ = end.told()
    end.passes(60_000)
    #expect(end.told() == [.answerTimedOut(.authentication)])
  }

  /// While the device itself is processing a certificate, the accessory does not have to answer.
  @Test func theAccessoryIsNotBlamedForTheOwnersTime() {
    var end = OneEnd.device { $0.answerTimeout = 5_000 }
    end.receives(says(1, 0xAA01, Self.certificate, ack: 1))
    end.passes(22)
    _ = end.told()
    end.passes(60_000)
    #expect(end.told() == [])
    end.peer.challenge(Self.challenge, now: end.now)
    end.says()
    end.receives(says(2, 0xAA03, Self.response, ack: 2))
    end.passes(22)
    _ = end.told()
    end.passes(60_000)
    #expect(end.told() == [])
    end.peer.concludeAuthentication(accepted: true, now: end.now)
    #expect(end.told() == [.authenticationSucceeded])
  }

  @Test(arguments: [
    (0xAA01, "AA01 AuthenticationCertificate"), (0xAA03, "AA03 AuthenticationResponse"),
  ])
  func answersThatNobodyAskedForAreTold(_ message: Int, _ name: String) {
    var end = OneEnd.device()
    end.receives(says(1, 0xAA01, Self.certificate, ack: 1))
    _ = end.told()
    end.receives(says(2, UInt16(message), "0102", ack: 1))
    #expect(end.told() == [.malformed("\(name) arrived unrequested")])
    // An unsolicited message does not affect the authentication in progress.
    end.peer.challenge(Self.challenge, now: end.now)
    #expect(end.says().count == 1)
  }

  @Test(arguments: [
    ("", "parameter 0 (data) is missing, at byte 0: (nothing)"),
    ("00050000ce" + "00050000ce", "parameter 0 (data) occurs twice, at byte 5: ce"),
    ("000500", "a parameter needs 4 bytes but has 3, at byte 0: 00 05 00"),
  ])
  func aCertificateMessageThatCannotBeReadIsToldAndWaitedForAgain(_ body: String, _ problem: String) {
    var end = OneEnd.device()
    _ = end.told()
    end.receives(Sheet.packet(0x40, 1, 1, session: 1, Sheet.message(0xAA01, body)))
    #expect(end.told() == [.malformed("AA01 AuthenticationCertificate: \(problem)")])
    end.receives(says(2, 0xAA01, Self.certificate, ack: 1))
    #expect(end.told() == [.certificateReceived(Sheet.unhex(Self.certificate))])
  }

  @Test func whatWasGoingOnIsForgottenWithTheLink() {
    var end = OneEnd.device()
    end.receives(says(1, 0xAA01, Self.certificate, ack: 1))
    #expect(end.receives(Sheet.detection) == [Sheet.detection])
    _ = end.told()
    end.peer.challenge(Self.challenge, now: end.now)
    end.peer.concludeAuthentication(accepted: false, now: end.now)
    #expect(end.says() == [])
    #expect(end.told() == [])
  }

  // MARK: The accessory

  @Test func theAccessoryAnswersWithItsOwnersCertificateAndResponse() {
    var end = OneEnd.accessory()
    #expect(end.receives(Sheet.packet(0x40, 0x41, 0, session: 1, "40400006aa00")) == [])
    #expect(end.told() == [.certificateRequested])
    end.peer.provideCertificate(Sheet.unhex(Self.certificate))
    // The packet's payload of 617 bytes consists of a 6-byte message header, a 4-byte parameter header and a 607-byte
    // certificate.
    #expect(
      end.says() == [Sheet.packet(0x40, 1, 0x41, session: 1, "40400269aa01" + "02630000" + Self.certificate)])
    end.receives(says(0x42, 0xAA02, Sheet.hex(Self.challenge), ack: 1))
    #expect(end.told() == [.challenged(Self.challenge)])
    end.peer.provideResponse(Sheet.unhex(Self.response))
    #expect(end.says() == [Sheet.packet(0x40, 2, 0x42, session: 1, "4040004aaa03" + "00440000" + Self.response)])
    end.receives(Sheet.packet(0x40, 0x43, 2, session: 1, "40400006aa05"))
    end.receives(Sheet.packet(0x40, 0x44, 2, session: 1, "40400006aa04"))
    #expect(end.told() == [.authenticationSucceeded, .authenticationFailed])
  }

  @Test func successAndTheNextQuestionMayComeInOneRead() {
    var end = OneEnd.accessory()
    let packets =
      Sheet.packet(0x40, 0x41, 0, session: 1, "40400006aa05") + Sheet.packet(0x40, 0x42, 0, session: 1, "404000061d00")
    let answer = end.receives(packets)
    #expect(answer == [Sheet.packet(0x40, 1, 0x42, session: 1, Sheet.message(0x1D01, Sheet.identification))])
    #expect(end.told() == [.authenticationSucceeded, .identificationSent])
    // Both messages may arrive in a single packet.
    end.receives(Sheet.packet(0x40, 0x43, 1, session: 1, "40400006aa05" + "404000061d00"))
    #expect(end.told() == [.authenticationSucceeded, .identificationSent])
  }

  @Test func aCertificateNoMessageCouldHoldIsToldAndNotSent() {
    var end = OneEnd.accessory()
    end.peer.provideCertificate([UInt8](repeating: 1, count: 70_000))
    #expect(end.says() == [])
    #expect(
      end.told() == [
        .malformed(
          "AA01 AuthenticationCertificate needs 70010 bytes, but a message can have at most 65535: not sent")
      ])
  }

  @Test(arguments: [DevicePeer.Settings.Order.authenticationFirst, .identificationFirst])
  func bothPeersGetReadyInEitherOrder(_ order: DevicePeer.Settings.Order) {
    var settings = DevicePeer.Settings()
    settings.order = order
    var wire = Wire(device: settings)
    wire.start()
    #expect(wire.deviceEvents.last == .ready)
    #expect(wire.accessoryEvents.contains(.authenticationSucceeded))
    #expect(wire.accessoryEvents.contains(.identificationAccepted))
  }

  /// In one capture, a microphone's host sends 1D00 once the link is up and never sends an AA message.
  @Test func aDeviceThatSkipsAuthenticationIsReadyAfterTheIdentification() {
    var settings = DevicePeer.Settings()
    settings.asksForAuthentication = false
    var wire = Wire(device: settings)
    wire.start()
    #expect(wire.device.isReady == true)
    #expect(!wire.lines.contains { $0.contains("AA0") })
  }
}
