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
  /// The certificate leads to nobody trusted, and the settings refuse that.
  case unknownChain(String)

  /// A sentence fragment for messages.
  public var description: String {
    switch self {
    case .certificate(let error): error.description
    case .wrongChallengeSize(let expected, let actual):
      "a challenge of \(actual) bytes for a certificate that calls for \(expected)"
    case .wrongResponseSize(let expected, let actual):
      "a response of \(actual) bytes from a coprocessor that answers with \(expected)"
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
