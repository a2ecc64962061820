import Testing

@testable import Certificates

@Suite struct StubAuthenticatorTests {
  let device = StubAuthenticator(seed: 2)

  @Test(arguments: CoprocessorGeneration.allCases)
  func aStubHasTheSizesOfTheRealThing(_ generation: CoprocessorGeneration) throws {
    let stub = StubAuthenticator(seed: 1, generation: generation)
    let sizes = generation == .current ? (607, 16, 32, 64) : (908, 15, 20, 128)
    #expect(stub.certificate.count == sizes.0)
    #expect(stub.certificateSerial.count == sizes.1)
    let challenge = try device.challenge(for: stub.certificate)
    #expect(challenge.count == sizes.2)
    #expect(try stub.respond(to: challenge).count == sizes.3)
    #expect(device.certificateSerial(of: stub.certificate) == stub.certificateSerial)
  }

  @Test(arguments: CoprocessorGeneration.allCases)
  func aStubDeviceAcceptsWhatAStubAnswersAndNoFlippedBit(_ generation: CoprocessorGeneration) throws {
    let stub = StubAuthenticator(seed: 1, generation: generation)
    let challenge = try device.challenge(for: stub.certificate)
    let response = try stub.respond(to: challenge)
    func isAccepted(_ response: [UInt8], _ challenge: [UInt8], _ certificate: [UInt8]) -> Bool {
      device.judge(response: response, to: challenge, certificate: certificate) == .accepted(warnings: [])
    }
    #expect(isAccepted(response, challenge, stub.certificate))
    for bit in 0..<response.count * 8 {
      #expect(!isAccepted(response.flipped(bit: bit), challenge, stub.certificate), "response bit \(bit)")
    }
    for bit in 0..<challenge.count * 8 {
      #expect(!isAccepted(response, challenge.flipped(bit: bit), stub.certificate), "challenge bit \(bit)")
    }
    for bit in 0..<stub.certificate.count * 8 {
      #expect(!isAccepted(response, challenge, stub.certificate.flipped(bit: bit)), "certificate bit \(bit)")
    }
    #expect(!isAccepted(Array(response.dropLast()), challenge, stub.certificate))
    #expect(!isAccepted(response, challenge, StubAuthenticator(seed: 3, generation: generation).certificate))
  }

  @Test func aStubRepeatsItselfForItsSeedAndItsChallengesDoNotRepeat() throws {
    let stub = StubAuthenticator(seed: 1)
    let challenge = [UInt8](repeating: 9, count: 32)
    #expect(try stub.respond(to: challenge) == StubAuthenticator(seed: 1).respond(to: challenge))
    #expect(try stub.respond(to: challenge) != StubAuthenticator(seed: 2).respond(to: challenge))
    let again = StubAuthenticator(seed: 2)
    let made = try (0..<20).map { _ in try device.challenge(for: stub.certificate) }
    #expect(made == (try (0..<20).map { _ in try again.challenge(for: stub.certificate) }))
    #expect(Set(made).count == 20)
  }

  @Test func aStubRefusesAChallengeOfAnotherSize() {
    #expect(throws: AuthenticatorError.wrongChallengeSize(expected: 32, actual: 20)) {
      try StubAuthenticator(seed: 1).respond(to: [UInt8](repeating: 0, count: 20))
    }
  }
}
