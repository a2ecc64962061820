import AccessoryCore

/// An accessory's end of authentication: a coprocessor, simulated or a stub.
///
/// The accessory role asks it twice per attachment: for the certificate (message AA01) and for the response to the
/// device's challenge (AA02 to AA03). It may be asked from any thread.
///
/// ```swift
/// let coprocessor: any AccessoryAuthenticator = SimulatedCoprocessor(seed: 7)
/// send(.authenticationCertificate(coprocessor.certificate))
/// ```
public protocol AccessoryAuthenticator: Sendable {
  /// The bytes of AA01: a PKCS#7 envelope in DER, whole.
  var certificate: [UInt8] { get }

  /// The response to a challenge: the bytes of AA03.
  func respond(to challenge: [UInt8]) throws(AuthenticatorError) -> [UInt8]
}

/// A device's end of authentication. Can be called from any thread.
///
/// ```swift
/// let verifier: any DeviceAuthenticator = AccessoryVerifier()
/// let challenge = try verifier.challenge(for: certificate)
/// let verdict = verifier.judge(response: response, to: challenge, certificate: certificate)
/// ```
public protocol DeviceAuthenticator: Sendable {
  /// The challenge to send (AA02) to the accessory with this certificate. An error refuses the certificate (AA04).
  func challenge(for certificate: [UInt8]) throws(AuthenticatorError) -> [UInt8]

  /// Decides between AA05 and AA04 for the response to one challenge.
  func judge(response: [UInt8], to challenge: [UInt8], certificate: [UInt8]) -> AuthenticationVerdict

  /// The serial in a certificate, as a device shows it to its apps; nil when it cannot be read.
  func certificateSerial(of certificate: [UInt8]) -> [UInt8]?
}

/// A device's decision about an accessory's response.
public enum AuthenticationVerdict: Equatable, Sendable {
  /// The response is right (AA05). The warnings name what a stricter device would have refused.
  case accepted(warnings: [String])
  /// The accessory is refused (AA04), for this reason.
  case refused(reason: String)
}

/// Why an authenticator cannot answer.
public enum AuthenticatorError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The challenge has the wrong size for this coprocessor; a real one reports "challenge length" (error 04).
  case wrongChallengeSize(expected: Int, actual: Int)
  /// The other side's certificate cannot be used.
  case certificate(CertificateError)
  /// A stub accepts only certificates of stubs, and this is another.
  case foreignCertificate(String)
  /// libcrypto refused; the text is its reason.
  case librarySaidNo(String)

  /// A sentence fragment for messages.
  public var description: String {
    switch self {
    case .wrongChallengeSize(let expected, let actual):
      "the challenge has \(actual) bytes, but this coprocessor signs \(expected)"
    case .certificate(let error): error.description
    case .foreignCertificate(let text): text
    case .librarySaidNo(let reasons): "libcrypto refused: \(reasons)"
    }
  }
}
