import Testing

@testable import Certificates

@Suite struct RecordedAuthenticatorTests {
  /// Two exchanges with a real (simulated) coprocessor.
  static func recording() throws -> RecordedAuthenticator {
    let challenges = [[UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32)]
    return RecordedAuthenticator(
      certificate: Sample.current.certificate,
      exchanges: try challenges.map { .init(challenge: $0, response: try Sample.current.respond(to: $0)) })
  }

  @Test func aRecordedAccessoryAnswersWhatWasRecordedAndNothingElse() throws {
    let recording = try Self.recording()
    for exchange in recording.exchanges {
      #expect(try recording.respond(to: exchange.challenge) == exchange.response)
    }
    let unheard = [UInt8](repeating: 3, count: 32)
    #expect(throws: AuthenticatorError.challengeNotRecorded(unheard, exchanges: 2)) {
      try recording.respond(to: unheard)
    }
  }

  @Test func aRecordedDeviceChallengesInOrderOverAndOver() throws {
    let recording = try Self.recording()
    let made = try (0..<5).map { _ in try recording.challenge(for: recording.certificate)[0] }
    #expect(made == [1, 2, 1, 2, 1])
  }

  @Test func aRecordedDeviceAcceptsTheRecordedResponseOnly() throws {
    let recording = try Self.recording()
    let exchange = recording.exchanges[0]
    func verdict(_ response: [UInt8], _ challenge: [UInt8], _ certificate: [UInt8]) -> AuthenticationVerdict {
      recording.judge(response: response, to: challenge, certificate: certificate)
    }
    #expect(verdict(exchange.response, exchange.challenge, recording.certificate) == .accepted(warnings: []))
    #expect(
      verdict(exchange.response.flipped(bit: 3), exchange.challenge, recording.certificate)
        == .refused(reason: "the response is not the one recorded for this challenge"))
    #expect(
      verdict(recording.exchanges[1].response, exchange.challenge, recording.certificate)
        == .refused(reason: "the response is not the one recorded for this challenge"))
    #expect(
      verdict(exchange.response, exchange.challenge, Sample.older.certificate)
        == .refused(reason: "this is not the certificate of the recording"))
    guard case .refused = verdict(exchange.response, [1, 2, 3], recording.certificate) else {
      Issue.record("a challenge that was never recorded cannot be judged")
      return
    }
  }

  @Test func aRecordingOfARealExchangeConvincesARealVerifier() throws {
    let recording = try Self.recording()
    let challenge = recording.exchanges[1].challenge
    let verdict = AccessoryVerifier().judge(
      response: try recording.respond(to: challenge), to: challenge, certificate: recording.certificate)
    #expect(verdict == .accepted(warnings: []))
    #expect(recording.certificateSerial(of: recording.certificate) == Sample.current.certificateSerial)
  }

  @Test func aRecordingForAnotherCertificateOrWithoutExchangesHasNoChallenge() throws {
    #expect(throws: AuthenticatorError.foreignCertificate("this is not the certificate of the recording")) {
      try Self.recording().challenge(for: [1])
    }
    #expect(throws: AuthenticatorError.emptyRecording) {
      try RecordedAuthenticator(certificate: [1], exchanges: []).challenge(for: [1])
    }
  }
}
