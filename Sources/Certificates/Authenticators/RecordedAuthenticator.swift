import Synchronization

/// Authentication replayed from a recording: one certificate, and responses to challenges that were really made.
///
/// One type plays both ends, so that either may be missing. As an accessory it answers the recorded challenges and no
/// others; as a device it sends the recorded challenges, over and over, and accepts the recorded responses.
///
/// ```swift
/// let recorded = RecordedAuthenticator(certificate: aa01, exchanges: [.init(challenge: aa02, response: aa03)])
/// ```
public final class RecordedAuthenticator: AccessoryAuthenticator, DeviceAuthenticator {
  /// One challenge and the response to it.
  public struct Exchange: Equatable, Sendable {
    /// The bytes of AA02.
    public let challenge: [UInt8]
    /// The bytes of AA03.
    public let response: [UInt8]

    /// A recorded exchange.
    public init(challenge: [UInt8], response: [UInt8]) {
      self.challenge = challenge
      self.response = response
    }
  }

  /// The recorded certificate.
  public let certificate: [UInt8]

  /// What was recorded, in order. Where a challenge comes twice, the first response is the answer.
  public let exchanges: [Exchange]

  private let challengesMade = Atomic<Int>(0)

  /// A recording.
  public init(certificate: [UInt8], exchanges: [Exchange]) {
    self.certificate = certificate
    self.exchanges = exchanges
  }

  /// The recorded response to a recorded challenge.
  public func respond(to challenge: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    guard let exchange = exchanges.first(where: { $0.challenge == challenge }) else {
      throw .challengeNotRecorded(challenge, exchanges: exchanges.count)
    }
    return exchange.response
  }

  /// The next recorded challenge; after the last comes the first again.
  public func challenge(for certificate: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    guard certificate == self.certificate else { throw .foreignCertificate(Self.foreign) }
    guard !exchanges.isEmpty else { throw .emptyRecording }
    let number = challengesMade.wrappingAdd(1, ordering: .relaxed).oldValue
    return exchanges[Int(UInt(bitPattern: number) % UInt(exchanges.count))].challenge
  }

  /// Accepts the recorded response.
  public func judge(response: [UInt8], to challenge: [UInt8], certificate: [UInt8]) -> AuthenticationVerdict {
    guard certificate == self.certificate else { return .refused(reason: Self.foreign) }
    do {
      return try respond(to: challenge) == response
        ? .accepted(warnings: []) : .refused(reason: "the response is not the one recorded for this challenge")
    } catch {
      return .refused(reason: error.description)
    }
  }

  /// The serial in the recorded certificate, when it can be read.
  public func certificateSerial(of certificate: [UInt8]) -> [UInt8]? {
    try? AccessoryCertificate(certificate, envelope: .bareAllowed).serial
  }

  private static let foreign = "this is not the certificate of the recording"
}
