import AccessoryCore
import AccessoryFormats

/// The device's end of authentication: reads an accessory's certificate, makes the challenge, verifies the response.
///
/// ```swift
/// let verifier = AccessoryVerifier()
/// let certificate = try verifier.read(aa01)
/// let challenge = verifier.makeChallenge(for: certificate)          // 32 bytes, or 20 for an older coprocessor
/// let verification = try verifier.verify(response: aa03, challenge: challenge, certificate: certificate)
/// verification.reading                                              // .digest
/// ```
///
/// It checks the certificate, the sizes, the signature and the chain in this order and reports the first problem. Can
/// be used from any thread.
public final class AccessoryVerifier: DeviceAuthenticator {
  /// What a verifier does where the specification is unknown or a user may want it otherwise.
  public struct Settings: Sendable {
    /// What happens to a certificate whose chain does not lead to a trusted authority.
    public enum UnknownChain: Equatable, Sendable {
      /// It is accepted, and the verdict says so.
      case warning
      /// It is refused.
      case refused
    }

    /// Where challenges come from.
    public enum ChallengeSource: Equatable, Sendable {
      /// From libcrypto's generator: for real accessories.
      case secure
      /// From a seed, one after another: for runs that repeat themselves.
      case seeded(UInt64)
    }

    /// The authorities that chains must lead to.
    public var chain: ChainPolicy
    /// What happens when they do not.
    public var unknownChain: UnknownChain
    /// Whether a certificate needs its envelope.
    public var envelope: AccessoryCertificate.EnvelopeRule
    /// What a response may sign, tried in this order.
    public var readings: [ChallengeReading]
    /// Where challenges come from.
    public var challenges: ChallengeSource

    /// Settings; the defaults fit simulated and real accessories alike.
    public init(
      chain: ChainPolicy = .simulationAuthority, unknownChain: UnknownChain = .warning,
      envelope: AccessoryCertificate.EnvelopeRule = .envelopeOnly,
      readings: [ChallengeReading] = [.digest, .hashed], challenges: ChallengeSource = .secure
    ) {
      self.chain = chain
      self.unknownChain = unknownChain
      self.envelope = envelope
      self.readings = readings
      self.challenges = challenges
    }
  }

  /// What it was made with.
  public let settings: Settings

  private let chains: ChainJudge
  private let cache = Locked(CertificateCache())
  private let seeded: Locked<SeededRandom>

  /// A verifier.
  public init(_ settings: Settings = Settings()) {
    self.settings = settings
    chains = .following(settings.chain)
    switch settings.challenges {
    case .secure: seeded = Locked(SeededRandom(seed: 0))
    case .seeded(let seed): seeded = Locked(SeededRandom(seed: seed))
    }
  }

  /// Reads the bytes of AA01. Reading the same bytes again is a look-up.
  public func read(_ bytes: [UInt8]) throws(CertificateError) -> AccessoryCertificate {
    try known(bytes).certificate
  }

  /// A fresh challenge of the size that the certificate calls for.
  public func makeChallenge(for certificate: AccessoryCertificate) -> [UInt8] {
    let count = certificate.challengeByteCount
    switch settings.challenges {
    case .secure: return SecureRandom.bytes(count)
    case .seeded: return seeded.withLock { $0.bytes(count) }
    }
  }

  /// Verifies one response.
  public func verify(
    response: [UInt8], challenge: [UInt8], certificate: AccessoryCertificate
  ) throws(VerificationError) -> Verification {
    guard challenge.count == certificate.challengeByteCount else {
      throw .wrongChallengeSize(expected: certificate.challengeByteCount, actual: challenge.count)
    }
    let generation = certificate.generation
    guard response.count == generation.responseByteCount else {
      throw .wrongResponseSize(expected: generation.responseByteCount, actual: response.count)
    }
    let match = settings.readings.first { reading in
      let digest = reading.digest(of: challenge, for: generation)
      return PublicKeyCheck.holds(response, digest: digest, certificate: certificate)
    }
    guard let match else { throw .wrongSignature(tried: settings.readings) }
    let chain = chain(of: certificate)
    if case .unknown(let reason) = chain, settings.unknownChain == .refused { throw .unknownChain(reason) }
    return Verification(reading: match, chain: chain)
  }

  /// Reads the certificate and makes its challenge.
  public func challenge(for certificate: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    do {
      return makeChallenge(for: try read(certificate))
    } catch {
      throw .certificate(error)
    }
  }

  /// Verifies one response. A warning means that a real device would refuse the accessory.
  public func judge(response: [UInt8], to challenge: [UInt8], certificate: [UInt8]) -> AuthenticationVerdict {
    do throws(VerificationError) {
      let certificate = try readForJudgement(certificate)
      let verification = try verify(response: response, challenge: challenge, certificate: certificate)
      return .accepted(warnings: warnings(about: certificate, verification))
    } catch {
      return .refused(reason: error.description)
    }
  }

  /// The serial in a certificate, when it can be read.
  public func certificateSerial(of certificate: [UInt8]) -> [UInt8]? {
    try? read(certificate).serial
  }

  private func readForJudgement(_ bytes: [UInt8]) throws(VerificationError) -> AccessoryCertificate {
    do {
      return try read(bytes)
    } catch {
      throw .certificate(error)
    }
  }

  private func warnings(about certificate: AccessoryCertificate, _ verification: Verification) -> [String] {
    var warnings: [String] = []
    if case .unknown(let reason) = verification.chain {
      warnings.append("the certificate's chain is unknown: \(reason)")
    }
    if certificate.isBare { warnings.append(CertificateError.bareX509(byteCount: certificate.byteCount).description) }
    return warnings
  }

  private func chain(of certificate: AccessoryCertificate) -> ChainFinding {
    cache.withLock { $0[certificate.bytes] }?.chain ?? chains.judge(certificate)
  }

  /// Parsing and following chains happen outside the lock; two threads may do the same work once.
  private func known(_ bytes: [UInt8]) throws(CertificateError) -> CertificateCache.Entry {
    if let entry = cache.withLock({ $0[bytes] }) { return entry }
    let certificate = try AccessoryCertificate(bytes, envelope: settings.envelope)
    let entry = CertificateCache.Entry(certificate: certificate, chain: chains.judge(certificate))
    cache.withLock { $0.keep(entry) }
    return entry
  }
}
