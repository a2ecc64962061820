import AccessoryCore
import Glibc

/// The device's side of authentication, which reads a certificate, creates a challenge, and verifies the response.
///
/// ```swift
/// let verifier = AccessoryVerifier()
/// let challenge = try verifier.challenge(for: certificate)          // 32 bytes, or 20 for an older coprocessor
/// let verdict = verifier.judge(response: response, to: challenge, certificate: certificate)
/// ```
///
/// The verifier checks the certificate, the sizes, the signature and the chain, in this order, and reports the first
/// problem. A chain that does not end at the simulation's own authority causes only a warning, because the root of
/// Apple's certificates is not public. An expired certificate also causes only a warning, because accessories outlive
/// their certificates. A verifier can be used on any thread.
public final class AccessoryVerifier: DeviceAuthenticator {
  /// All verifiers share the cache, because the accessories in most worlds have the same certificate.
  private static let cache = Locked(CertificateCache())

  /// Creates a verifier.
  public init() {}

  /// Reads the certificate and creates a challenge of the size that the coprocessor expects.
  public func challenge(for certificate: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    SecureRandom.bytes(try generation(of: certificate).challengeByteCount)
  }

  /// Returns the generation of a certificate's coprocessor, determined by the type of the certificate's key.
  public func generation(of certificate: [UInt8]) throws(AuthenticatorError) -> CoprocessorGeneration {
    try known(certificate).certificate.generation
  }

  /// Verifies one response. A warning means that a real device would refuse the accessory.
  public func judge(response: [UInt8], to challenge: [UInt8], certificate: [UInt8]) -> AuthenticationVerdict {
    do throws(AuthenticatorError) {
      let known = try known(certificate)
      _ = try verify(response: response, challenge: challenge, certificate: known.certificate)
      let chain = known.chainProblem.map { "the certificate's issuer is unknown: \($0)" }
      return .accepted(warnings: [known.certificate.dateProblem, chain].compactMap(\.self))
    } catch {
      return .refused(reason: error.description)
    }
  }

  /// Returns a certificate's serial, or nil if the serial cannot be read.
  public func certificateSerial(of certificate: [UInt8]) -> [UInt8]? {
    try? known(certificate).certificate.serial
  }

  /// Verifies one response. Returns the interpretation of the challenge under which the signature is valid.
  func verify(
    response: [UInt8], challenge: [UInt8], certificate: AccessoryCertificate
  ) throws(AuthenticatorError) -> ChallengeReading {
    let generation = certificate.generation
    guard challenge.count == generation.challengeByteCount else {
      throw .wrongChallengeSize(expected: generation.challengeByteCount, actual: challenge.count)
    }
    guard response.count == generation.responseByteCount else {
      throw .wrongResponseSize(expected: generation.responseByteCount, actual: response.count)
    }
    let match = [ChallengeReading.digest, .hashed].first { reading in
      certificate.isSigned(reading.digest(of: challenge, for: generation), response)
    }
    guard let match else { throw .wrongSignature }
    return match
  }

  /// Returns a certificate and the result of checking its chain, from the cache if the bytes are known. Parsing and
  /// checking take place outside the lock, so two threads may occasionally do the same work.
  func known(_ bytes: [UInt8]) throws(AuthenticatorError) -> CertificateCache.Entry {
    if let entry = Self.cache.withLock({ $0[bytes] }) { return entry }
    do throws(CertificateError) {
      let certificate = try AccessoryCertificate(bytes)
      let entry = CertificateCache.Entry(
        certificate: certificate, chainProblem: TrustedChain.simulation.problem(of: certificate))
      Self.cache.withLock { $0.keep(entry) }
      return entry
    } catch {
      throw .certificate(error)
    }
  }
}

extension AccessoryCertificate {
  /// Returns true if `response` is a valid signature of `digest`, made with the certificate's key. `response` must have
  /// the length that this generation uses.
  fileprivate func isSigned(_ digest: [UInt8], _ response: [UInt8]) -> Bool {
    defer { LibraryReasons.take() }
    let key = X509_get0_pubkey(parsed.leaf)
    // A result of 0 means that the signature is wrong; a negative result means that it cannot be read. A device treats
    // both cases alike.
    switch generation {
    case .current:
      // The EVP interface is not used, because it would need the signature encoded as DER, only to decode it again.
      guard let curveKey = EVP_PKEY_get0_EC_KEY(key) else { return false }
      let signature = P256Signature(raw: response).parsed()
      return ECDSA_do_verify(digest, Int32(digest.count), signature.pointer, curveKey) == 1
    case .older:
      guard let context = Owned(parsed: EVP_PKEY_CTX_new_from_pkey(nil, key, nil), EVP_PKEY_CTX_free),
        EVP_PKEY_verify_init(context.pointer) == 1,
        EVP_PKEY_CTX_set_rsa_padding(context.pointer, RSA_PKCS1_PADDING) == 1,
        EVP_PKEY_CTX_set_signature_md(context.pointer, EVP_sha1()) == 1
      else { return false }
      return EVP_PKEY_verify(context.pointer, response, response.count, digest, digest.count) == 1
    }
  }
}

/// Certificates that have been parsed and checked, keyed by their bytes. When an accessory reconnects, its certificate
/// is looked up instead of being parsed and checked again.
///
/// The number of entries and their total size are limited, and the oldest entry is dropped first. The cache keeps only
/// valid certificates, because refusing an invalid one is cheap.
struct CertificateCache {
  struct Entry: Sendable {
    let certificate: AccessoryCertificate
    /// Why the certificate is not trusted, or nil if its chain leads to a trusted certificate.
    let chainProblem: String?
  }

  /// A certificate's bytes as a cache key. Only the last bytes are hashed, because they contain the signature and
  /// therefore differ in every certificate.
  private struct Key: Hashable {
    private static let hashedCount = 32
    let bytes: [UInt8]

    static func == (left: Key, right: Key) -> Bool { left.bytes.isSame(as: right.bytes) }

    func hash(into hasher: inout Hasher) {
      bytes.withUnsafeBytes { hasher.combine(bytes: .init(rebasing: $0.suffix(Self.hashedCount))) }
    }
  }

  private let capacity: Int
  private let largest: Int
  private var entries: [Key: Entry] = [:]
  /// The keys in order of insertion. Once the cache is full, the array is used as a ring buffer.
  private var order: [Key] = []
  private var oldest = 0

  init(capacity: Int = 512, largest: Int = 4096) {
    precondition(capacity > 0, "a cache needs room for at least one entry")
    self.capacity = capacity
    self.largest = largest
  }

  var count: Int { entries.count }

  subscript(bytes: [UInt8]) -> Entry? { entries[Key(bytes: bytes)] }

  mutating func keep(_ entry: Entry) {
    let key = Key(bytes: entry.certificate.bytes)
    guard key.bytes.count <= largest, entries[key] == nil else { return }
    if order.count < capacity {
      order.append(key)
    } else {
      entries[order[oldest]] = nil
      order[oldest] = key
      oldest = (oldest + 1) % capacity
    }
    entries[key] = entry
  }
}

extension [UInt8] {
  /// Returns true if both arrays contain the same bytes. The comparison uses `memcmp`, because certificates are long
  /// and are looked up several times per accessory. A loop over the elements would take most of the look-up time.
  func isSame(as other: [UInt8]) -> Bool {
    guard count == other.count else { return false }
    return withUnsafeBufferPointer { own in
      other.withUnsafeBufferPointer { other in
        guard let own = own.baseAddress, let other = other.baseAddress else { return true }
        return memcmp(own, other, count) == 0
      }
    }
  }
}
