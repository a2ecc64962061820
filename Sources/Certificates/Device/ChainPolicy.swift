/// Which authorities a device trusts to sign an accessory's certificate.
///
/// Dates are ignored, because accessories are used longer than their certificates are valid.
public enum ChainPolicy: Equatable, Sendable {
  /// The simulation's own authority.
  case simulationAuthority
  /// Certificates that a user gave, of the authority or of one between it and the accessory.
  case roots(TrustedRoots)
  /// None; chains are not checked.
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

  /// The certificates in PEM text. Other blocks, such as keys, are skipped and never decrypted, so that libcrypto
  /// does not ask for a password.
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

/// Follows a certificate's chain with libcrypto, to the certificates it was made with.
final class ChainJudge: @unchecked Sendable {
  /// Nil where chains are not asked about. libcrypto locks a store itself.
  private let store: OpaquePointer?

  private static let simulation = ChainJudge(.simulationAuthority)

  /// The judge for a policy. There is only one for the simulation's authority.
  static func following(_ policy: ChainPolicy) -> ChainJudge {
    policy == .simulationAuthority ? simulation : ChainJudge(policy)
  }

  private init(_ policy: ChainPolicy) {
    let roots: [[UInt8]]
    switch policy {
    case .none:
      store = nil
      return
    case .simulationAuthority: roots = [CertificateAuthority.simulation.der]
    case .roots(let given): roots = given.certificates
    }
    guard let store = X509_STORE_new() else { preconditionFailure("libcrypto is out of memory") }
    self.store = store
    for root in roots {
      // They were parsed before, so this cannot fail; it copies the reference.
      guard let parsed = ParsedCertificates.bare(root) else { continue }
      X509_STORE_add_cert(store, parsed.leaf)
    }
    // The user may have an intermediate certificate instead of the root. Dates are ignored. So are extensions that
    // libcrypto does not know: Apple marks some of its own as critical.
    let flags = X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME | X509_V_FLAG_IGNORE_CRITICAL
    LibraryReasons.must(X509_STORE_set_flags(store, UInt(flags)), "how chains are judged")
    LibraryReasons.must(X509_STORE_set_depth(store, Int32(ParsedCertificates.limit)), "maximum length of chains")
    LibraryReasons.take()
  }

  deinit {
    X509_STORE_free(store)
  }

  /// Where the chain of `certificate` leads, over the other certificates in its envelope if need be.
  func judge(_ certificate: AccessoryCertificate) -> ChainFinding {
    guard let store else { return .notAsked }
    let context = Owned(X509_STORE_CTX_new(), X509_STORE_CTX_free)
    // The stack borrows the certificates; only it is freed.
    let others = Owned(OPENSSL_sk_new_null(), OPENSSL_sk_free)
    for other in certificate.parsed.all { OPENSSL_sk_push(others.pointer, UnsafeRawPointer(other)) }
    LibraryReasons.must(
      X509_STORE_CTX_init(context.pointer, store, certificate.parsed.leaf, others.pointer), "chain")
    let isTrusted = X509_verify_cert(context.pointer) == 1
    let reason =
      X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(context.pointer))).map { String(cString: $0) } ?? ""
    LibraryReasons.take()
    return isTrusted ? .trusted : .unknown("\(reason); it says it is signed by \(certificate.issuer)")
  }
}
