import CCrypto

/// Whose signature on an accessory's certificate a device asks for.
///
/// Only who signed is judged, never when: an accessory lasts longer than the dates in its certificate.
public enum ChainPolicy: Equatable, Sendable {
  /// The simulation's own authority.
  case simulationAuthority
  /// Certificates that a user gave, of the authority or of one between it and the accessory.
  case roots(TrustedRoots)
  /// Nobody's; chains are not looked at.
  case none
}

/// What a certificate's chain came to.
public enum ChainFinding: Equatable, Sendable {
  /// It leads to a trusted certificate.
  case trusted
  /// It does not; the text says where it ends.
  case unknown(String)
  /// The policy does not ask.
  case notAsked
}

/// Certificates that a device trusts, read from a file's bytes.
///
/// ```swift
/// let roots = try TrustedRoots(fileBytes)   // PEM with one or several, or DER with one
/// let verifier = AccessoryVerifier(.init(chain: .roots(roots), unknownChain: .refused))
/// ```
public struct TrustedRoots: Equatable, Sendable {
  /// The certificates, each in DER.
  public let certificates: [[UInt8]]

  /// More than this in one file are refused.
  public static let limit = 64
  private static let byteLimit = 1 << 20

  /// Reads PEM text or DER.
  public init(_ bytes: [UInt8]) throws(CertificateError) {
    if bytes.isEmpty { throw .empty }
    let first = Array(bytes.prefix(16))
    guard bytes.count <= Self.byteLimit else {
      throw .notARoot(first: first, reason: "\(bytes.count) bytes are more than the \(Self.byteLimit) allowed")
    }
    let found = bytes.first == 0x30 ? [bytes] : Self.pem(bytes)
    guard !found.isEmpty else { throw .notARoot(first: first, reason: "no CERTIFICATE block") }
    guard found.count <= Self.limit else { throw .wrongNumber(of: found.count, limit: Self.limit) }
    for certificate in found where ParsedCertificates.bare(certificate) == nil {
      let fault = DERFault.first(in: certificate)
      throw .notARoot(
        first: first, reason: fault.map { "damaged at byte \($0.offset): \($0.what)" } ?? "no X.509 certificate")
    }
    certificates = found
    LibraryReasons.take()
  }

  /// The certificates in PEM text. Other blocks, such as keys, are passed over: none is ever decrypted, so that nobody
  /// is asked for a password.
  private static func pem(_ bytes: [UInt8]) -> [[UInt8]] {
    bytes.withUnsafeBytes { buffer in
      let input = Owned(BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)), { BIO_free($0) })
      var found: [[UInt8]] = []
      while found.count <= limit {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var data: UnsafeMutablePointer<UInt8>?
        var length = 0
        guard PEM_read_bio(input.pointer, &name, &header, &data, &length) == 1 else {
          LibraryReasons.take()
          return found
        }
        if let name, let data, String(cString: name) == PEM_STRING_X509 {
          found.append(Array(UnsafeBufferPointer(start: data, count: length)))
        }
        for part in [UnsafeMutableRawPointer(name), UnsafeMutableRawPointer(header), UnsafeMutableRawPointer(data)] {
          CRYPTO_free(part, #fileID, #line)
        }
      }
      return found
    }
  }
}
