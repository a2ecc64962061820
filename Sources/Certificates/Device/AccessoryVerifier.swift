import AccessoryCore

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
  struct Known: Sendable {
    let certificate: AccessoryCertificate
    /// Why the certificate is not trusted, or nil if its chain leads to a trusted certificate.
    let chainProblem: String?
  }

  private static let mostKnown = 512
  private static let largestKnown = 4_096
  /// The valid certificates that have been parsed and checked, by their bytes. All verifiers share them, because the
  /// accessories in most worlds have the same certificate, and an accessory that reconnects presents it again.
  private static let known = Locked<[[UInt8]: Known]>([:])

  /// Creates a verifier.
  public init() {}

  /// Reads the certificate and creates a challenge of the size that the coprocessor expects.
  public func challenge(for certificate: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    let size = try generation(of: certificate).challengeByteCount
    return [UInt8](unsafeUninitializedCapacity: size) { output, count in
      // Traps if the system has no entropy, because a challenge that can be guessed proves nothing.
      LibraryReasons.must(RAND_bytes(output.baseAddress, Int32(size)), "random bytes")
      count = size
    }
  }

  /// Returns the generation of a certificate's coprocessor, determined by the type of the certificate's key.
  public func generation(of certificate: [UInt8]) throws(AuthenticatorError) -> CoprocessorGeneration {
    try known(certificate).certificate.generation
  }

  /// Verifies one response. A warning means that a real device would refuse the accessory.
  public func judge(response: [UInt8], to challenge: [UInt8], certificate: [UInt8]) -> AuthenticationVerdict {
    do throws(AuthenticatorError) {
      let known = try known(certificate)
      try verify(response: response, challenge: challenge, certificate: known.certificate)
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

  /// Verifies one response, which may be a signature for either interpretation of the challenge.
  func verify(
    response: [UInt8], challenge: [UInt8], certificate: AccessoryCertificate
  ) throws(AuthenticatorError) {
    let generation = certificate.generation
    guard challenge.count == generation.challengeByteCount else {
      throw .wrongChallengeSize(expected: generation.challengeByteCount, actual: challenge.count)
    }
    guard response.count == generation.responseByteCount else {
      throw .wrongResponseSize(expected: generation.responseByteCount, actual: response.count)
    }
    let isSigned = [ChallengeReading.digest, .hashed].contains { reading in
      certificate.isSigned(reading.digest(of: challenge, for: generation), response)
    }
    if !isSigned { throw .wrongSignature }
  }

  /// Returns a certificate and the result of checking its chain. Parsing and checking take place outside the lock, so
  /// two threads may occasionally do the same work.
  func known(_ bytes: [UInt8]) throws(AuthenticatorError) -> Known {
    if let known = Self.known.withLock({ $0[bytes] }) { return known }
    do throws(CertificateError) {
      let certificate = try AccessoryCertificate(bytes)
      let made = Known(certificate: certificate, chainProblem: TrustedChain.problem(of: certificate))
      guard bytes.count <= Self.largestKnown else { return made }
      Self.known.withLock { known in
        if known.count == Self.mostKnown { known.removeAll() }
        known[bytes] = made
      }
      return made
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
      let (digestCount, count) = (UInt32(digest.count), UInt32(response.count))
      return RSA_verify(NID_sha1, digest, digestCount, response, count, EVP_PKEY_get0_RSA(key)) == 1
    }
  }
}
