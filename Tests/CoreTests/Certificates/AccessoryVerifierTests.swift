import Testing

@testable import Certificates

@Suite struct AccessoryVerifierTests {
  let verifier = AccessoryVerifier()

  func exchange(
    _ generation: CoprocessorGeneration
  ) throws -> (certificate: AccessoryCertificate, challenge: [UInt8], response: [UInt8]) {
    let coprocessor = Sample.of(generation)
    let certificate = try AccessoryCertificate(coprocessor.certificate)
    let challenge = try verifier.challenge(for: coprocessor.certificate)
    return (certificate, challenge, try coprocessor.respond(to: challenge))
  }

  @Test(arguments: CoprocessorGeneration.allCases)
  func theRightResponseIsAcceptedWithoutWarnings(_ generation: CoprocessorGeneration) throws {
    for reading in [ChallengeReading.digest, .hashed] {
      let coprocessor = SimulatedCoprocessor(seed: 7, generation: generation, reading: reading)
      let challenge = try verifier.challenge(for: coprocessor.certificate)
      let response = try coprocessor.respond(to: challenge)
      #expect(
        verifier.judge(response: response, to: challenge, certificate: coprocessor.certificate)
          == .accepted(warnings: []))
    }
  }

  @Test func theChallengeIs20BytesForAnOlderKeyAnd32Otherwise() throws {
    #expect(try verifier.challenge(for: Sample.current.certificate).count == 32)
    #expect(try verifier.challenge(for: Sample.older.certificate).count == 20)
  }

  @Test(arguments: CoprocessorGeneration.allCases)
  func aFlippedBitAnywhereInResponseOrChallengeIsRefused(_ generation: CoprocessorGeneration) throws {
    let (certificate, challenge, response) = try exchange(generation)
    for bit in 0..<response.count * 8 {
      #expect(throws: AuthenticatorError.wrongSignature, "bit \(bit) of the response") {
        try verifier.verify(response: response.flipped(bit: bit), challenge: challenge, certificate: certificate)
      }
    }
    for bit in 0..<challenge.count * 8 {
      #expect(throws: AuthenticatorError.wrongSignature, "bit \(bit) of the challenge") {
        try verifier.verify(response: response, challenge: challenge.flipped(bit: bit), certificate: certificate)
      }
    }
  }

  @Test(arguments: CoprocessorGeneration.allCases)
  func anotherCoprocessorsResponseIsRefused(_ generation: CoprocessorGeneration) throws {
    let certificate = Sample.of(generation).certificate
    let challenge = try verifier.challenge(for: certificate)
    let response = try SimulatedCoprocessor(seed: 8, generation: generation).respond(to: challenge)
    #expect(
      verifier.judge(response: response, to: challenge, certificate: certificate)
        == .refused(reason: "the response signs neither the challenge nor its hash with the certificate's key"))
  }

  @Test func wrongSizesAreErrorsByName() throws {
    let (certificate, challenge, response) = try exchange(.current)
    for count in [0, 63, 65, 128] {
      #expect(throws: AuthenticatorError.wrongResponseSize(expected: 64, actual: count)) {
        try verifier.verify(
          response: [UInt8](repeating: 1, count: count), challenge: challenge, certificate: certificate)
      }
    }
    for count in [0, 20, 33] {
      #expect(throws: AuthenticatorError.wrongChallengeSize(expected: 32, actual: count)) {
        try verifier.verify(
          response: response, challenge: [UInt8](repeating: 1, count: count), certificate: certificate)
      }
    }
    let older = try exchange(.older)
    #expect(throws: AuthenticatorError.wrongResponseSize(expected: 128, actual: 64)) {
      try verifier.verify(response: response, challenge: older.challenge, certificate: older.certificate)
    }
    #expect(throws: AuthenticatorError.wrongChallengeSize(expected: 20, actual: 32)) {
      try verifier.verify(response: older.response, challenge: challenge, certificate: older.certificate)
    }
  }

  @Test func responsesOfNumbersThatAreNoSignatureAreRefused() throws {
    let (certificate, challenge, response) = try exchange(.current)
    let zeros = [UInt8](repeating: 0, count: 32)
    let ones = [UInt8](repeating: 0xFF, count: 32)
    let (r, s) = (Array(response.prefix(32)), Array(response.suffix(32)))
    for wrong in [zeros + s, r + zeros, zeros + zeros, ones + s, r + ones, ones + ones, P256Key.order + s, s + r] {
      #expect(throws: AuthenticatorError.wrongSignature) {
        try verifier.verify(response: wrong, challenge: challenge, certificate: certificate)
      }
    }
  }

  @Test func aCertificateThatCannotBeReadIsRefusedAndNamed() throws {
    let garbage: [UInt8] = [0x47, 0x45, 0x54]
    #expect(throws: AuthenticatorError.certificate(.notDER(first: garbage, byteCount: 3))) {
      try verifier.challenge(for: garbage)
    }
    #expect(
      verifier.judge(response: [], to: [], certificate: garbage)
        == .refused(reason: "3 bytes that are not a certificate: they begin with 47 45 54, but DER begins with 30"))
    #expect(verifier.certificateSerial(of: garbage) == nil)
    #expect(verifier.certificateSerial(of: Sample.current.certificate) == Sample.current.certificateSerial)
  }

  @Test(arguments: [
    ("99991231235959Z", "20210304000000Z", "the certificate expired on 2021-03-04"),
    ("200101000000Z", "491231000000Z", "the certificate is not valid before 2049-12-31"),
  ])
  func aCertificateThatIsNotValidTodayIsAcceptedWithAWarning(_ date: String, _ other: String, _ text: String) throws {
    let coprocessor = SimulatedCoprocessor(seed: 7)
    var certificate = coprocessor.certificate
    let place = try #require(certificate.firstRange(of: Array(date.utf8)))
    certificate.replaceSubrange(place, with: Array(other.utf8))
    let challenge = try verifier.challenge(for: certificate)
    let verdict = verifier.judge(
      response: try coprocessor.respond(to: challenge), to: challenge, certificate: certificate)
    guard case .accepted(let warnings) = verdict else { return #expect(verdict == .accepted(warnings: [text])) }
    #expect(warnings.first == text)
  }

  @Test func challengesFromTheSystemNeverRepeat() throws {
    let made = try (0..<100).map { _ in try verifier.challenge(for: Sample.current.certificate) }
    #expect(Set(made).count == 100)
  }

  @Test func stubsAndRealOnesDoNotMixAndSaySo() throws {
    let device = StubAuthenticator(seed: 2)
    let real = Sample.current.certificate
    let message =
      "a stub verifies only stub certificates, and this one (607 bytes) begins "
      + "30 82 02 5b 06 09 2a 86 48 86 f7 0d 01 07 02 a0"
    #expect(throws: AuthenticatorError.foreignCertificate(message)) { try device.challenge(for: real) }
    #expect(device.judge(response: [], to: [], certificate: real) == .refused(reason: message))
    #expect(device.certificateSerial(of: real) == nil)
    #expect(throws: AuthenticatorError.certificate(.stub)) {
      try AccessoryVerifier().challenge(for: StubAuthenticator(seed: 1).certificate)
    }
  }

  @Test func manyThreadsMayUseOneCoprocessorAndOneVerifierAtOnce() async throws {
    let coprocessor = SimulatedCoprocessor(seed: 99)
    let challenge = [UInt8](repeating: 5, count: 32)
    let expected = try SimulatedCoprocessor(seed: 99).respond(to: challenge)
    let verifier = verifier
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<16 {
        group.addTask {
          let certificate = coprocessor.certificate
          guard let response = try? coprocessor.respond(to: challenge), response == expected else { return false }
          return verifier.judge(response: response, to: challenge, certificate: certificate) == .accepted(warnings: [])
        }
      }
      for await isRight in group { #expect(isRight) }
    }
  }

  @Test func onlyTheSimulationsOwnAuthorityIsKnown() throws {
    let key = try #require(P256Key(scalar: DeterministicSignatureTests.scalar))
    var draft = Draft.leaf(key.key)
    draft.issuer = .init(organisation: "a,b\u{1B}[31mé", commonName: "stranger")
    let certificate = Envelope.around(draft.signed(by: key))
    let challenge = try verifier.challenge(for: certificate)
    let unknown =
      "the certificate's issuer is unknown: unable to get local issuer certificate; it names "
      + #"O=a\,b\1B[31m\C3\A9, CN=stranger as its issuer"#
    #expect(
      verifier.judge(response: key.response(signing: challenge), to: challenge, certificate: certificate)
        == .accepted(warnings: [unknown]))
  }

  // All calls return the same parsed object, so nothing was parsed or verified again.
  @Test func verifiersReadTheSameBytesOnce() throws {
    let first = try verifier.known(Sample.current.certificate)
    let again = try AccessoryVerifier().known(Array(Sample.current.certificate))
    #expect(first.certificate.parsed === again.certificate.parsed)
  }
}
