import CCrypto

/// Follows a certificate's chain with libcrypto, to the certificates it was made with.
final class ChainJudge: @unchecked Sendable {
  /// Nil where chains are not asked about. libcrypto locks a store itself.
  private let store: OpaquePointer?

  private static let simulation = ChainJudge(.simulationAuthority)

  /// The judge of a policy; for the simulation's authority always the same one.
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
    guard let store = X509_STORE_new() else { preconditionFailure("libcrypto has no memory left") }
    self.store = store
    for root in roots {
      // They were parsed before, so this cannot fail; it copies the reference.
      guard let parsed = ParsedCertificates.bare(root) else { continue }
      X509_STORE_add_cert(store, parsed.leaf)
    }
    // A certificate between accessory and root may be what the user has. Dates are not judged. Extensions that
    // libcrypto does not know are: Apple has its own, and some are marked as must-understand.
    let flags = X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME | X509_V_FLAG_IGNORE_CRITICAL
    LibraryReasons.must(X509_STORE_set_flags(store, UInt(flags)), "how chains are judged")
    LibraryReasons.must(X509_STORE_set_depth(store, Int32(ParsedCertificates.limit)), "how long chains may be")
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
    let reason = String(cString: X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(context.pointer))))
    LibraryReasons.take()
    return isTrusted ? .trusted : .unknown("\(reason); it says it is signed by \(certificate.issuer)")
  }
}
