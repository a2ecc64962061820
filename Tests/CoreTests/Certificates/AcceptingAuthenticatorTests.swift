import Certificates
import Testing

/// With `--auth accept`, easim accepts what an Apple device would refuse, and only logs a warning.
@Suite struct AcceptingAuthenticatorTests {
  private let accepting = AcceptingAuthenticator(AccessoryVerifier())

  @Test func aWrongSignatureIsAWarning() throws {
    let coprocessor = SimulatedCoprocessor(seed: 1)
    let challenge = try accepting.challenge(for: coprocessor.certificate)
    var response = try coprocessor.respond(to: challenge)
    #expect(
      accepting.judge(response: response, to: challenge, certificate: coprocessor.certificate)
        == .accepted(warnings: []))
    response[63] ^= 1
    let verdict = accepting.judge(response: response, to: challenge, certificate: coprocessor.certificate)
    guard case .accepted(let warnings) = verdict else {
      Issue.record("\(verdict)")
      return
    }
    #expect(warnings.count == 1)
    #expect(warnings.first?.hasPrefix("authentication: an Apple device would refuse this accessory: ") == true)
  }

  /// The challenge is 20 bytes long if the certificate is longer than 800 bytes, and 32 bytes long otherwise.
  @Test(arguments: [(0, 32), (469, 32), (908, 20)])
  func aCertificateThatCannotBeReadIsChallengedAllTheSame(_ count: Int, _ expected: Int) throws {
    let certificate = [UInt8](repeating: 0xCE, count: count)
    let challenge = try accepting.challenge(for: certificate)
    #expect(challenge.count == expected)
    guard case .accepted(let warnings) = accepting.judge(response: [1], to: challenge, certificate: certificate) else {
      Issue.record("refused")
      return
    }
    #expect(warnings.count == 1)
  }
}
