import Testing

@testable import Certificates

@Suite struct ChainPolicyTests {
  static let stranger = CertificateAuthority(seed: 1)

  /// The verdict of a verifier with these settings on a coprocessor that `authority` has signed.
  func verdict(
    _ settings: AccessoryVerifier.Settings, authority: CertificateAuthority = .simulation,
    generation: CoprocessorGeneration = .current
  ) throws -> AuthenticationVerdict {
    let coprocessor = SimulatedCoprocessor(seed: 5, generation: generation, authority: authority)
    let verifier = AccessoryVerifier(settings)
    let challenge = try verifier.challenge(for: coprocessor.certificate)
    return verifier.judge(
      response: try coprocessor.respond(to: challenge), to: challenge, certificate: coprocessor.certificate)
  }

  static let unknown =
    "the certificate's chain is unknown: unable to get local issuer certificate; it says it is signed by "
    + "O=easim, CN=easim Simulation Accessories Certification Authority - NOT APPLE"

  @Test(arguments: CoprocessorGeneration.allCases)
  func theSimulationsOwnAuthorityIsKnown(_ generation: CoprocessorGeneration) throws {
    let strict = AccessoryVerifier.Settings(chain: .simulationAuthority, unknownChain: .refused)
    #expect(try verdict(strict, generation: generation) == .accepted(warnings: []))
  }

  @Test func anUnknownChainIsAWarningByDefault() throws {
    #expect(try verdict(.init(), authority: Self.stranger) == .accepted(warnings: [Self.unknown]))
  }

  @Test func anUnknownChainIsRefusedWhereThatIsAsked() throws {
    let strict = AccessoryVerifier.Settings(unknownChain: .refused)
    #expect(try verdict(strict, authority: Self.stranger) == .refused(reason: Self.unknown))
  }

  @Test func withoutAPolicyNoChainIsLookedAt() throws {
    let blind = AccessoryVerifier.Settings(chain: .none, unknownChain: .refused)
    #expect(try verdict(blind, authority: Self.stranger) == .accepted(warnings: []))
  }

  @Test func aUsersRootIsTrustedAndNobodyElse() throws {
    for file in [Self.stranger.der, Array(Self.stranger.pem.utf8)] {
      let settings = AccessoryVerifier.Settings(chain: .roots(try TrustedRoots(file)), unknownChain: .refused)
      #expect(try verdict(settings, authority: Self.stranger) == .accepted(warnings: []))
      guard case .refused = try verdict(settings) else {
        Issue.record("the simulation's authority is no root of this user")
        continue
      }
    }
  }

  @Test func aFileMayHoldSeveralRootsAmongOtherThings() throws {
    let text =
      "a note\n" + CertificateAuthority.simulation.pem + "-----BEGIN OTHER-----\nAAAA\n-----END OTHER-----\n"
      + Self.stranger.pem
    let roots = try TrustedRoots(Array(text.utf8))
    #expect(roots.certificates == [CertificateAuthority.simulation.der, Self.stranger.der])
    let settings = AccessoryVerifier.Settings(chain: .roots(roots), unknownChain: .refused)
    #expect(try verdict(settings) == .accepted(warnings: []))
    #expect(try verdict(settings, authority: Self.stranger) == .accepted(warnings: []))
  }

  @Test func aSignatureIsJudgedBeforeTheChain() throws {
    let verifier = AccessoryVerifier(.init(unknownChain: .refused))
    let coprocessor = SimulatedCoprocessor(seed: 5, authority: Self.stranger)
    let challenge = try verifier.challenge(for: coprocessor.certificate)
    let response = try coprocessor.respond(to: challenge).flipped(bit: 0)
    #expect(
      verifier.judge(response: response, to: challenge, certificate: coprocessor.certificate)
        == .refused(reason: "the response signs neither the challenge nor its hash with the certificate's key"))
  }

  @Test func filesThatAreNoRootAreErrorsThatShowHowTheyBegin() throws {
    #expect(throws: CertificateError.empty) { try TrustedRoots([]) }
    #expect(
      throws: CertificateError.notARoot(first: Array("just some text, ".utf8), reason: "no CERTIFICATE block")
    ) { try TrustedRoots(Array("just some text, and more of it".utf8)) }
    let cut = Array(CertificateAuthority.simulation.der.prefix(100))
    let length = CertificateAuthority.simulation.der.count - 4
    #expect(
      throws: CertificateError.notARoot(
        first: Array(cut.prefix(16)),
        reason: "damaged at byte 0: a value of \(length) bytes, but only 96 are left")
    ) { try TrustedRoots(cut) }
    // An accessory's envelope is not a root either.
    #expect(
      throws: CertificateError.notARoot(
        first: Array(Sample.current.certificate.prefix(16)), reason: "no X.509 certificate")
    ) { try TrustedRoots(Sample.current.certificate) }
    #expect(throws: CertificateError.self) { try TrustedRoots([UInt8](repeating: 0x41, count: 2 << 20)) }
    let many = String(repeating: CertificateAuthority.simulation.pem, count: 65)
    #expect(throws: CertificateError.wrongNumber(of: 65, limit: 64)) { try TrustedRoots(Array(many.utf8)) }
  }

  // A key with a password would make libcrypto's simpler readers ask for it on the terminal.
  @Test func anEncryptedKeyInTheFileIsPassedOver() throws {
    let key =
      "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00000000000000000000000000000000\n\n"
      + "AAAA\n-----END RSA PRIVATE KEY-----\n"
    let roots = try TrustedRoots(Array((key + CertificateAuthority.simulation.pem).utf8))
    #expect(roots.certificates == [CertificateAuthority.simulation.der])
  }

  @Test func theAuthorityIsTheSameHoweverOftenItIsMade() {
    #expect(CertificateAuthority(seed: 0).der == CertificateAuthority.simulation.der)
    #expect(Self.stranger.der != CertificateAuthority.simulation.der)
    #expect(CertificateAuthority.name.contains("NOT APPLE"))
    #expect(CertificateAuthority.simulation.pem.hasPrefix("-----BEGIN CERTIFICATE-----\n"))
  }
}
