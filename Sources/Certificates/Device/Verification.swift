/// A response that was found right.
public struct Verification: Equatable, Sendable {
  /// Which reading of the challenge it signs.
  public let reading: ChallengeReading
  /// Where the certificate's chain leads.
  public let chain: ChainFinding
}

/// Why a response was refused.
public enum VerificationError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The certificate cannot be read.
  case certificate(CertificateError)
  /// The challenge is not of the size this certificate calls for.
  case wrongChallengeSize(expected: Int, actual: Int)
  /// The response is not of the size of the certificate's generation.
  case wrongResponseSize(expected: Int, actual: Int)
  /// The signature fits neither the challenge nor, where that was asked, its hash.
  case wrongSignature(tried: [ChallengeReading])
  /// The chain does not lead to a trusted authority, and the settings refuse that.
  case unknownChain(String)

  /// A sentence fragment for messages.
  public var description: String {
    switch self {
    case .certificate(let error): error.description
    case .wrongChallengeSize(let expected, let actual):
      "a challenge of \(actual) bytes for a certificate that requires \(expected)"
    case .wrongResponseSize(let expected, let actual):
      "a response of \(actual) bytes, but this coprocessor's have \(expected)"
    case .wrongSignature(let tried):
      switch tried {
      case [.digest]: "the response does not sign the challenge with the certificate's key"
      case [.hashed]: "the response does not sign the hash of the challenge with the certificate's key"
      default: "the response signs neither the challenge nor its hash with the certificate's key"
      }
    case .unknownChain(let reason): "the certificate's chain is unknown: \(reason)"
    }
  }
}

/// One signature checked against a certificate's key.
enum PublicKeyCheck {
  /// Whether `response`, of its generation's size, signs `digest` with the key of `certificate`.
  static func holds(_ response: [UInt8], digest: [UInt8], certificate: AccessoryCertificate) -> Bool {
    defer { LibraryReasons.take() }
    let key = X509_get0_pubkey(certificate.parsed.leaf)
    // 0 is a wrong signature and less than 0 one that cannot be read; to a device they are the same.
    switch certificate.generation {
    case .current:
      // Not through EVP, which would need the signature encoded as DER only to decode it again.
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
