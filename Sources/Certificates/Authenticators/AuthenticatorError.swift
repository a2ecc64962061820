import AccessoryCore

/// Why an authenticator gives no answer.
public enum AuthenticatorError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The challenge has the wrong size for this coprocessor; a real one reports "challenge length" (error 04).
  case wrongChallengeSize(expected: Int, actual: Int)
  /// A recording holds no answer to this challenge.
  case challengeNotRecorded([UInt8], exchanges: Int)
  /// A recording without a single exchange has no challenge to send.
  case emptyRecording
  /// The other side's certificate cannot be used.
  case certificate(CertificateError)
  /// A stub or a recording knows one kind of certificate, and this is another.
  case foreignCertificate(String)
  /// libcrypto refused; the text is its reason.
  case librarySaidNo(String)

  /// A sentence fragment for messages.
  public var description: String {
    switch self {
    case .wrongChallengeSize(let expected, let actual):
      "the challenge is \(actual) bytes and this coprocessor signs \(expected)"
    case .challengeNotRecorded(let challenge, let exchanges):
      "the challenge \(Hex.excerpt(challenge)) is not among the \(exchanges) recorded; "
        + "a recording can only answer the device it was made with"
    case .emptyRecording: "the recording holds no challenge to send"
    case .certificate(let error): error.description
    case .foreignCertificate(let text): text
    case .librarySaidNo(let reasons): "libcrypto refused: \(reasons)"
    }
  }
}
