/// The certificates in one envelope, held by libcrypto.
final class ParsedCertificates: @unchecked Sendable {
  /// The limit exceeds what any real accessory sends: its certificate and the intermediates below the root.
  static let limit = 8

  let leaf: OpaquePointer
  let all: [OpaquePointer]

  /// Takes ownership of the certificates. The leaf is the first certificate that does not belong to an authority.
  private init(owning certificates: [OpaquePointer], leaf: OpaquePointer) {
    all = certificates
    self.leaf = leaf
  }

  deinit {
    all.forEach { X509_free($0) }
  }

  /// Parses an envelope, and checks that nothing follows it.
  static func envelope(_ bytes: [UInt8]) throws(CertificateError) -> ParsedCertificates {
    let (parsed, consumed) = parse(bytes, d2i_CMS_ContentInfo)
    guard let envelope = Owned(parsed: parsed, CMS_ContentInfo_free) else { throw refusal(of: bytes) }
    if consumed < bytes.count {
      throw .trailingBytes(offset: consumed, bytes: Array(bytes[consumed...].prefix(16)))
    }
    let kind = OBJ_obj2nid(CMS_get0_type(envelope.pointer))
    guard kind == NID_pkcs7_signed else {
      let name = OBJ_nid2ln(kind).map { String(cString: $0) } ?? "of an unknown kind"
      throw .notAnEnvelope(reason: "the content is \(name)", first: Array(bytes.prefix(16)))
    }
    let stack = CMS_get1_certs(envelope.pointer)
    defer { OPENSSL_sk_free(stack) }
    let certificates = (0..<max(0, OPENSSL_sk_num(stack))).compactMap { index in
      OPENSSL_sk_value(stack, index).map { OpaquePointer($0) }
    }
    guard let leaf = certificates.first(where: { X509_check_ca($0) == 0 }) ?? certificates.first else {
      throw .wrongNumber(of: 0, limit: limit)
    }
    let found = ParsedCertificates(owning: certificates, leaf: leaf)
    guard certificates.count <= limit else { throw .wrongNumber(of: certificates.count, limit: limit) }
    return found
  }

  static func bare(_ bytes: [UInt8]) -> ParsedCertificates? {
    let (parsed, consumed) = parse(bytes, d2i_X509)
    guard let parsed else {
      LibraryReasons.take()
      return nil
    }
    guard consumed == bytes.count else {
      X509_free(parsed)
      return nil
    }
    return ParsedCertificates(owning: [parsed], leaf: parsed)
  }

  private typealias Parser = (
    UnsafeMutablePointer<OpaquePointer?>?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, Int
  ) -> OpaquePointer?

  private static func parse(_ bytes: [UInt8], _ parser: Parser) -> (OpaquePointer?, consumed: Int) {
    bytes.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return (nil, 0) }
      var position: UnsafePointer<UInt8>? = start
      let parsed = parser(nil, &position, buffer.count)
      return (parsed, position.map { $0 - start } ?? 0)
    }
  }

  /// Explains, as precisely as possible, why the bytes are not an envelope.
  private static func refusal(of bytes: [UInt8]) -> CertificateError {
    let reason = LibraryReasons.take()
    let first = Array(bytes.prefix(16))
    if bytes.isEmpty { return .empty }
    if StubAuthenticator.isStub(bytes) { return .stub }
    if bytes.starts(with: Array("-----BEGIN".utf8)) { return .pemText }
    if bytes[0] != 0x30 { return .notDER(first: first, byteCount: bytes.count) }
    if let fault = DERFault.first(in: bytes) {
      let shown = Array(bytes.dropFirst(fault.offset).prefix(16))
      return .damaged(offset: fault.offset, what: fault.what, bytes: shown)
    }
    return .notAnEnvelope(reason: reason, first: first)
  }
}

/// Finds where bytes stop being valid DER, because libcrypto's parsers report what is wrong but not where.
///
/// The search follows only tags and lengths, so bytes without errors are not necessarily a certificate.
struct DERFault: Equatable {
  let offset: Int
  let what: String

  /// Certificates are never nested this deeply, and the limit is shallow enough for any stack.
  private static let depthLimit = 24

  /// Returns the first error in `bytes`, or nil if there is none. The bytes should contain exactly one value.
  static func first(in bytes: [UInt8]) -> DERFault? {
    bytes.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return DERFault(offset: 0, what: "nothing is there") }
      var position = 0
      return fault(start, &position, end: buffer.count, depth: 0)
    }
  }

  private static func fault(
    _ start: UnsafePointer<UInt8>, _ position: inout Int, end: Int, depth: Int
  ) -> DERFault? {
    let header = position
    var cursor: UnsafePointer<UInt8>? = start + position
    var length = -1
    var tag: Int32 = 0
    var kind: Int32 = 0
    let flags = ASN1_get_object(&cursor, &length, &tag, &kind, end - position)
    LibraryReasons.take()
    // After an invalid header, `length` still has its initial value. After a valid header whose value extends beyond
    // the bytes, `length` is set.
    guard let cursor, length >= 0 else { return DERFault(offset: header, what: "an incomplete tag or length") }
    position = cursor - start
    if flags & 0x80 != 0 {
      return DERFault(offset: header, what: "a value of \(length) bytes, but only \(end - position) are left")
    }
    if flags & 0x01 != 0 { return DERFault(offset: header, what: "an indefinite length, which DER forbids") }
    let valueEnd = position + length
    if flags & V_ASN1_CONSTRUCTED != 0 {
      if depth == depthLimit { return DERFault(offset: header, what: "values are nested deeper than \(depthLimit)") }
      while position < valueEnd {
        if let fault = fault(start, &position, end: valueEnd, depth: depth + 1) { return fault }
      }
    }
    position = valueEnd
    return nil
  }
}

/// Follows certificate chains to the simulation's own authority, using libcrypto. Dates are ignored, because accessories
/// outlive their certificates.
enum TrustedChain {
  // libcrypto itself locks the store.
  private nonisolated(unsafe) static let store: OpaquePointer = {
    guard let store = X509_STORE_new() else { preconditionFailure("libcrypto is out of memory") }
    LibraryReasons.must(X509_STORE_add_cert(store, CertificateAuthority.parsed.leaf), "root certificate")
    // Unknown critical extensions are ignored, because Apple marks some of its own extensions as critical.
    let flags = X509_V_FLAG_NO_CHECK_TIME | X509_V_FLAG_IGNORE_CRITICAL
    LibraryReasons.must(X509_STORE_set_flags(store, UInt(flags)), "how chains are judged")
    LibraryReasons.must(X509_STORE_set_depth(store, Int32(ParsedCertificates.limit)), "maximum length of chains")
    return store
  }()

  /// Returns why `certificate` is not trusted, or nil if its chain leads to the simulation's own authority. The chain
  /// may include the other certificates in the envelope.
  static func problem(of certificate: AccessoryCertificate) -> String? {
    let context = Owned(X509_STORE_CTX_new(), X509_STORE_CTX_free)
    // The stack only borrows the certificates, so freeing the stack does not free them.
    let others = Owned(OPENSSL_sk_new_null(), OPENSSL_sk_free)
    for other in certificate.parsed.all { OPENSSL_sk_push(others.pointer, UnsafeRawPointer(other)) }
    LibraryReasons.must(
      X509_STORE_CTX_init(context.pointer, store, certificate.parsed.leaf, others.pointer), "chain")
    let isTrusted = X509_verify_cert(context.pointer) == 1
    let reason =
      X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(context.pointer))).map { String(cString: $0) } ?? ""
    LibraryReasons.take()
    return isTrusted ? nil : "\(reason); it names \(certificate.issuer) as its issuer"
  }
}
