import AccessoryCore

/// The accessory's side of authentication: a simulated coprocessor or a stub.
///
/// The accessory role uses an authenticator twice per connection: for the certificate (AA01), and for the response
/// (AA03) to the device's challenge (AA02). An authenticator may be called from any thread.
///
/// ```swift
/// let coprocessor: any AccessoryAuthenticator = SimulatedCoprocessor(seed: 7)
/// send(.authenticationCertificate(coprocessor.certificate))
/// ```
public protocol AccessoryAuthenticator: Sendable {
  /// The content of AA01: a complete PKCS#7 envelope in DER.
  var certificate: [UInt8] { get }

  /// Returns the response to a challenge: the content of AA03.
  func respond(to challenge: [UInt8]) throws(AuthenticatorError) -> [UInt8]

  /// Whether responses may take a long time to compute and must therefore be requested on a separate thread instead of
  /// a loop.
  var isSlow: Bool { get }
}

extension AccessoryAuthenticator {
  /// The default is false, because software computes responses immediately.
  public var isSlow: Bool { false }
}

/// The device's side of authentication. An authenticator may be called from any thread.
///
/// ```swift
/// let verifier: any DeviceAuthenticator = AccessoryVerifier()
/// let challenge = try verifier.challenge(for: certificate)
/// let verdict = verifier.judge(response: response, to: challenge, certificate: certificate)
/// ```
public protocol DeviceAuthenticator: Sendable {
  /// Returns the challenge (AA02) for the accessory with this certificate. An error means that the device refuses the
  /// certificate (AA04).
  func challenge(for certificate: [UInt8]) throws(AuthenticatorError) -> [UInt8]

  /// Decides whether to accept (AA05) or refuse (AA04) the response to a challenge.
  func judge(response: [UInt8], to challenge: [UInt8], certificate: [UInt8]) -> AuthenticationVerdict

  /// Returns a certificate's serial in the form that apps see, or nil if the serial cannot be read.
  func certificateSerial(of certificate: [UInt8]) -> [UInt8]?
}

/// The device's decision about an accessory's response.
public enum AuthenticationVerdict: Equatable, Sendable {
  /// The device accepts the response (AA05). The warnings state why a stricter device would have refused the response.
  case accepted(warnings: [String])
  /// The device refuses the accessory (AA04) for this reason.
  case refused(reason: String)
}

/// The reason an authenticator cannot answer.
public enum AuthenticatorError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The challenge has the wrong size for this coprocessor; a real coprocessor reports "challenge length" (error 04).
  case wrongChallengeSize(expected: Int, actual: Int)
  case certificate(CertificateError)
  /// The response does not have the size that the certificate's generation requires.
  case wrongResponseSize(expected: Int, actual: Int)
  /// The response is not a valid signature of the challenge or its hash.
  case wrongSignature
  /// The certificate does not come from a stub, and stubs accept only stub certificates.
  case foreignCertificate(String)
  /// An external signer cannot be used or gave an invalid answer. The text names the signer.
  case signer(String)
  /// A libcrypto call failed. The text is libcrypto's error message.
  case librarySaidNo(String)

  /// A sentence fragment for messages.
  public var description: String {
    switch self {
    case .wrongChallengeSize(let expected, let actual):
      "the challenge has \(actual) bytes, but this coprocessor signs \(expected) bytes"
    case .certificate(let error): error.description
    case .wrongResponseSize(let expected, let actual):
      "the response has \(actual) bytes instead of \(expected)"
    case .wrongSignature: "the response signs neither the challenge nor its hash with the certificate's key"
    case .foreignCertificate(let text): text
    case .signer(let text): "the signer \(text)"
    case .librarySaidNo(let reasons): "libcrypto refused: \(reasons)"
    }
  }
}

/// Turns another authenticator's refusals into warnings, so that any certificate and any signature is accepted.
///
/// ```swift
/// let accepting = AcceptingAuthenticator(AccessoryVerifier())
/// accepting.judge(response: response, to: challenge, certificate: certificate)   // accepted, possibly with warnings
/// ```
public struct AcceptingAuthenticator: DeviceAuthenticator {
  private let strict: any DeviceAuthenticator

  /// Creates an authenticator that turns the refusals of `strict` into warnings.
  public init(_ strict: any DeviceAuthenticator) {
    self.strict = strict
  }

  /// Returns the challenge for a certificate. If the certificate cannot be read, its length determines the size of the
  /// challenge. The challenge need not be random, because any response is accepted.
  public func challenge(for certificate: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    do {
      return try strict.challenge(for: certificate)
    } catch {
      let isOlder = certificate.count > AccessoryCertificate.olderAboveByteCount
      let generation: CoprocessorGeneration = isOlder ? .older : .current
      return (0..<generation.challengeByteCount).map { UInt8($0) }
    }
  }

  /// Accepts the response, with a warning if the strict authenticator would have refused it.
  public func judge(response: [UInt8], to challenge: [UInt8], certificate: [UInt8]) -> AuthenticationVerdict {
    switch strict.judge(response: response, to: challenge, certificate: certificate) {
    case .accepted(let warnings): .accepted(warnings: warnings)
    case .refused(let reason):
      .accepted(warnings: ["authentication: an Apple device would refuse this accessory: \(reason)"])
    }
  }

  /// Returns a certificate's serial, or nil if the serial cannot be read.
  public func certificateSerial(of certificate: [UInt8]) -> [UInt8]? {
    strict.certificateSerial(of: certificate)
  }
}
