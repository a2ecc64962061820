import AccessoryCore

/// What is wrong with the certificate an accessory presented, or with a root certificate given by a user.
///
/// Cases about bytes show the first wrong ones, at most sixteen.
public enum CertificateError: Error, Equatable, Sendable, CustomStringConvertible {
  /// There are no bytes.
  case empty
  /// A stub coprocessor's certificate, which only a stub can verify.
  case stub
  /// PEM text where the wire carries DER.
  case pemText
  /// An X.509 certificate without its PKCS#7 envelope, which real devices refuse.
  case bareX509(byteCount: Int)
  /// The bytes do not begin like DER at all.
  case notDER(first: [UInt8], byteCount: Int)
  /// The bytes begin well and go wrong at an offset.
  case damaged(offset: Int, what: String, bytes: [UInt8])
  /// Sound DER, but no envelope with certificates; the reason is libcrypto's.
  case notAnEnvelope(reason: String, first: [UInt8])
  /// Something comes after the envelope.
  case trailingBytes(offset: Int, bytes: [UInt8])
  /// The envelope holds no certificate, or more than a chain needs.
  case wrongNumber(of: Int, limit: Int)
  /// Coprocessors have no keys of this kind.
  case unusableKey(String)
  /// Text or bytes given as a root certificate are neither PEM nor DER of one.
  case notARoot(first: [UInt8], reason: String)

  /// A sentence fragment for messages.
  public var description: String {
    switch self {
    case .empty: "the certificate is empty"
    case .stub:
      "this is a stub coprocessor's certificate; use a stub on both ends, or on the accessory's a simulated coprocessor"
    case .pemText: "the certificate is PEM text (it begins with -----BEGIN); the wire carries it in DER"
    case .bareX509(let byteCount):
      "this is a bare X.509 certificate of \(byteCount) bytes; devices want it inside a PKCS#7 SignedData envelope"
    case .notDER(let first, let byteCount):
      "\(byteCount) bytes that are not a certificate: they begin with \(Hex.excerpt(first)), but DER begins with 30"
    case .damaged(let offset, let what, let bytes):
      "the certificate is damaged at byte \(offset): \(what)\(bytes.isEmpty ? "" : " (\(Hex.excerpt(bytes)))")"
    case .notAnEnvelope(let reason, let first):
      "valid DER, but not a PKCS#7 SignedData with certificates (\(reason)); it begins \(Hex.excerpt(first))"
    case .trailingBytes(let offset, let bytes):
      "the envelope ends at byte \(offset) and more follows: \(Hex.excerpt(bytes))"
    case .wrongNumber(let count, let limit):
      count == 0
        ? "the envelope holds no certificate"
        : "the envelope holds \(count) certificates, more than the \(limit) allowed"
    case .unusableKey(let what): "the certificate's key is \(what); coprocessors have P-256 or RSA-1024"
    case .notARoot(let first, let reason):
      "no root certificate, neither PEM nor DER (\(reason)); it begins \(Hex.excerpt(first))"
    }
  }
}
