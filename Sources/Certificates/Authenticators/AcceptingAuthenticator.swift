/// Turns every refusal of another authenticator into a warning: certificates of any form and signatures that do not
/// verify are accepted.
///
/// ```swift
/// let accepting = AcceptingAuthenticator(AccessoryVerifier())
/// accepting.judge(response: [], to: challenge, certificate: [])   // .accepted(warnings: ["a phone would refuse …"])
/// ```
public struct AcceptingAuthenticator: DeviceAuthenticator {
  private let strict: any DeviceAuthenticator

  /// An authenticator that turns the refusals of `strict` into warnings.
  public init(_ strict: any DeviceAuthenticator) {
    self.strict = strict
  }

  /// The challenge for a certificate. For a certificate that cannot be read, it has the size that fits the
  /// certificate's length. It need not be random, because the response proves nothing.
  public func challenge(for certificate: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    do {
      return try strict.challenge(for: certificate)
    } catch {
      let isOlder = certificate.count > AccessoryCertificate.olderAboveByteCount
      let generation: CoprocessorGeneration = isOlder ? .older : .current
      return (0..<generation.challengeByteCount).map { UInt8($0) }
    }
  }

  /// Accepts, with the strict authenticator's objection as a warning.
  public func judge(response: [UInt8], to challenge: [UInt8], certificate: [UInt8]) -> AuthenticationVerdict {
    switch strict.judge(response: response, to: challenge, certificate: certificate) {
    case .accepted(let warnings): .accepted(warnings: warnings)
    case .refused(let reason): .accepted(warnings: ["authentication: a phone would refuse this accessory: \(reason)"])
    }
  }

  /// The serial in a certificate, when it can be read.
  public func certificateSerial(of certificate: [UInt8]) -> [UInt8]? {
    strict.certificateSerial(of: certificate)
  }
}
