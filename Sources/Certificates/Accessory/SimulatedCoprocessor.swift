import AccessoryCore

/// An authentication coprocessor in software. The coprocessor's certificate and signatures are as long as real ones,
/// but no Apple device trusts their authority.
///
/// The same seed and generation give the same certificate and responses in every process. The key and certificate are
/// created on first use. Creating them takes about 0.5 ms for the current generation, and about 15 ms for the older
/// one, whose key requires a search for primes. Coprocessors with the same seed and generation share one key and
/// certificate.
///
/// ```swift
/// let coprocessor = SimulatedCoprocessor(seed: 7)
/// coprocessor.certificate.count            // 607
/// try coprocessor.respond(to: challenge)   // 64 bytes
/// ```
public final class SimulatedCoprocessor: AccessoryAuthenticator {
  /// The generation that the coprocessor simulates.
  public let generation: CoprocessorGeneration

  /// Whether the coprocessor signs the challenge itself or its hash.
  public let reading: ChallengeReading

  private let seed: UInt64
  private let made = Locked<Identity?>(nil)

  /// Creates a coprocessor from a seed.
  public init(
    seed: UInt64, generation: CoprocessorGeneration = .current, reading: ChallengeReading = .digest
  ) {
    self.generation = generation
    self.reading = reading
    self.seed = seed
  }

  /// The content of AA01: 607 bytes for every seed, or 908 for the older generation.
  public var certificate: [UInt8] { identity.certificate }

  /// The serial in the certificate: 16 bytes, or 15 for the older generation.
  public var certificateSerial: [UInt8] { generation.stream(seed).serial(byteCount: generation.serialByteCount) }

  /// Signs a challenge of this generation's size.
  public func respond(to challenge: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    guard challenge.count == generation.challengeByteCount else {
      throw .wrongChallengeSize(expected: generation.challengeByteCount, actual: challenge.count)
    }
    return try identity.key.response(signing: reading.digest(of: challenge, for: generation))
  }

  private var identity: Identity {
    made.withLock { made in
      if let made { return made }
      let identity = Identity.shared(seed, generation)
      made = identity
      return identity
    }
  }
}

private struct Identity: Sendable {
  let key: any SigningKey
  let certificate: [UInt8]

  private struct Recipe: Hashable {
    let seed: UInt64
    let generation: CoprocessorGeneration
  }

  private static let mostShared = 64
  private static let shared = Locked<[Recipe: Identity]>([:])

  /// Returns the identity shared by coprocessors with the same seed, creating it if necessary. A run that creates many
  /// worlds reuses the same seeds for their accessories.
  static func shared(_ seed: UInt64, _ generation: CoprocessorGeneration) -> Identity {
    let recipe = Recipe(seed: seed, generation: generation)
    if let known = shared.withLock({ $0[recipe] }) { return known }
    let made = Identity(seed, generation)
    shared.withLock { shared in
      if shared.count == mostShared { shared.removeAll() }
      shared[recipe] = made
    }
    return made
  }

  private init(_ seed: UInt64, _ generation: CoprocessorGeneration) {
    let stream = generation.stream(seed)
    switch generation {
    case .current: key = P256Key.derived(from: stream)
    case .older: key = RSAKey(derivedFrom: stream)
    }
    let draft = CertificateDraft(
      serial: stream.serial(byteCount: generation.serialByteCount),
      // In real certificates, the common name is IPA_ followed by digits.
      subject: .init(organisation: "easim", commonName: "IPA_EASIM_" + Hex.number(seed)),
      issuer: CertificateAuthority.name, publicKey: key.key,
      extensions: [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_authority_key_identifier, "keyid:always"), (NID_netscape_comment, Self.comment(for: generation)),
      ], authority: CertificateAuthority.parsed)
    certificate = Envelope.around(draft.signed(by: CertificateAuthority.key))
    precondition(
      certificate.count == generation.certificateByteCount,
      "a certificate of \(generation) is \(certificate.count) bytes; change the length of its comment to make it "
        + "\(generation.certificateByteCount)")
  }

  /// Returns a comment for anyone who opens the certificate, padded so that the certificate is exactly as long as a
  /// real one.
  private static func comment(for generation: CoprocessorGeneration) -> String {
    let text = "Simulated by easim. Not Apple's, and no Apple device accepts it. "
    let length =
      switch generation {
      case .current: 72
      case .older: 295
      }
    return text + String(repeating: "-", count: length - text.utf8.count)
  }
}

protocol SigningKey: AnyObject, Sendable {
  /// libcrypto's key object, which X.509 calls need. The pointer is valid while this object exists.
  var key: OpaquePointer { get }

  /// Returns the content of AA03 for a digest of the size that this generation uses. The same digest always gives the
  /// same bytes.
  func response(signing digest: [UInt8]) throws(AuthenticatorError) -> [UInt8]
}

/// The two generations of authentication coprocessors, and how they differ on the wire.
public enum CoprocessorGeneration: CaseIterable, Equatable, Sendable {
  /// Generation 3.0, with a P-256 key and a certificate of about 600 bytes.
  case current
  /// Generations 2.0B and 2.0C, with an RSA-1024 key and a certificate of about 900 bytes.
  case older

  private var traits: (certificate: Int, serial: Int, challenge: Int, response: Int, key: String) {
    switch self {
    case .current: (607, 16, 32, 64, "P-256")
    case .older: (908, 15, 20, 128, "RSA-1024")
    }
  }

  /// The length of a simulated coprocessor's certificate in AA01, which is the most common length of real certificates.
  /// Some real certificates are a byte or two longer or shorter.
  public var certificateByteCount: Int { traits.certificate }

  /// The size of the serial in the certificate, which apps see as `certSerial`.
  public var serialByteCount: Int { traits.serial }

  /// The size of the challenge in AA02, which equals the size of a SHA-256 or SHA-1 digest.
  public var challengeByteCount: Int { traits.challenge }

  /// The size of the response in AA03. The response is either r and s, concatenated, or one RSA number.
  public var responseByteCount: Int { traits.response }

  fileprivate func stream(_ seed: UInt64) -> SeedStream { SeedStream("coprocessor \(traits.key)", seed: seed) }
}

/// How a coprocessor computes its signature for a challenge. The specification is not public and the sources disagree,
/// so simulated coprocessors and verifiers can both be set to either interpretation.
public enum ChallengeReading: Equatable, Sendable {
  /// The challenge is the digest to sign. The size of challenges suggests a digest: 32 bytes for SHA-256, 20 for SHA-1.
  case digest
  /// The challenge is a message, and its hash is signed.
  case hashed

  func digest(of challenge: [UInt8], for generation: CoprocessorGeneration) -> [UInt8] {
    switch (self, generation) {
    case (.digest, _): challenge
    case (.hashed, .current): Digests.sha256(challenge)
    case (.hashed, .older): Digests.sha1(challenge)
    }
  }
}

/// The authority that signs the certificates of simulated coprocessors. The name makes clear that this is not Apple's
/// authority, and no Apple device trusts it.
///
/// The key is derived from a fixed seed, so that two processes have the same key without sharing a file. A signature
/// therefore proves nothing, because anyone can derive the key.
enum CertificateAuthority {
  /// The issuer name in certificates. The common name is exactly 64 characters long, the maximum that X.509 allows.
  static let name = CertificateDraft.Name(
    organisation: "easim", commonName: "easim Simulation Accessories Certification Authority - NOT APPLE")

  static let key = P256Key.derived(from: seed)
  private static let seed = SeedStream("authority", seed: 0)

  /// The self-signed certificate in DER.
  static let der: [UInt8] = {
    let draft = CertificateDraft(
      serial: seed.serial(byteCount: 16), subject: name, issuer: name, publicKey: key.key,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign"),
        (NID_subject_key_identifier, "hash"),
        (NID_netscape_comment, "Simulation only. Its key is public: it proves nothing."),
      ])
    return draft.signed(by: key)
  }()

  static let parsed: ParsedCertificates = {
    guard let parsed = ParsedCertificates.bare(der) else {
      preconditionFailure("the authority's own certificate is unreadable")
    }
    return parsed
  }()
}

/// Bytes that depend only on a seed and a purpose. Simulated keys and serials are derived from these bytes.
///
/// A hash is used instead of `SeededRandom`, so that different purposes or seeds give unrelated bytes, and every
/// version of easim derives the same key from the same seed.
struct SeedStream {
  private let prefix: [UInt8]

  /// Creates the stream for deriving `thing`, such as "coprocessor 3.0", from a seed.
  init(_ thing: String, seed: UInt64) {
    prefix = Array("easim simulation\0\(thing)\0".utf8) + withUnsafeBytes(of: seed.bigEndian) { Array($0) }
  }

  /// Returns `count` bytes for a purpose. If the bytes are unsuitable, a different value of `attempt` gives different
  /// bytes.
  func bytes(_ purpose: String, attempt: UInt8 = 0, count: Int) -> [UInt8] {
    Digests.stretched(prefix + Array("\(purpose)\0".utf8) + [attempt], to: count)
  }

  /// Returns a certificate's serial. The serial is positive and does not start with zeros, so it has the same size for
  /// every seed.
  func serial(byteCount: Int) -> [UInt8] {
    var serial = bytes("serial", count: byteCount)
    serial[0] = serial[0] & 0x3F | 0x40
    return serial
  }
}
