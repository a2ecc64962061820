/// The contents of an X.509 certificate, and the code that creates the signed certificate.
///
/// The seed does not affect the certificate's size: every field has a fixed size, and the certificate is signed with
/// new nonces until the signature has the most common length. Certificates that differ only in key and serial therefore
/// have the same length.
struct CertificateDraft {
  struct Name {
    var organisation: String
    var commonName: String
  }

  /// Most signatures are 70 to 72 bytes long; half of all signatures have exactly this length.
  static let signatureByteCount = 71

  var serial: [UInt8]
  var subject: Name
  var issuer: Name
  /// The public key, a libcrypto object that the draft only borrows.
  var publicKey: OpaquePointer
  /// Extensions in libcrypto's configuration language, each with its numeric ID.
  var extensions: [(kind: Int32, text: String)]
  /// The authority's certificate, for extensions that refer to it.
  var authority: ParsedCertificates?

  /// Returns the certificate in DER, signed with ECDSA over SHA-256. The same draft always gives the same bytes.
  func signed(by authority: P256Key) -> [UInt8] {
    let certificate = Owned(X509_new(), X509_free)
    fill(certificate.pointer)
    // The first signature has a random nonce and serves only to set the algorithm names; a deterministic signature then
    // replaces it.
    LibraryReasons.must(X509_sign(certificate.pointer, authority.key, EVP_sha256()) > 0 ? 1 : 0, "signing")
    let body = encoded { i2d_re_X509_tbs(certificate.pointer, $0) }
    let signature = Self.signatureOfFixedLength(Digests.sha256(body), by: authority)
    var place: OpaquePointer?
    X509_get0_signature(&place, nil, certificate.pointer)
    LibraryReasons.must(
      ASN1_STRING_set(place, signature, Int32(signature.count)), "signature")
    return encoded { i2d_X509(certificate.pointer, $0) }
  }

  private static func signatureOfFixedLength(_ digest: [UInt8], by authority: P256Key) -> [UInt8] {
    for attempt in UInt8.min...UInt8.max {
      let signature = authority.sign(digest: digest, extra: attempt == 0 ? [] : [attempt]).der
      if signature.count == signatureByteCount { return signature }
    }
    preconditionFailure("256 consecutive signatures had a length other than \(signatureByteCount)")
  }

  private func fill(_ certificate: OpaquePointer) {
    LibraryReasons.must(X509_set_version(certificate, 2), "version 3")
    LibraryReasons.must(ASN1_STRING_set(X509_get0_serialNumber(certificate), serial, Int32(serial.count)), "serial")
    // Apple ignores a certificate's dates; in X.509, the second date means "does not expire".
    LibraryReasons.must(
      ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate), "20200101000000Z"), "first day")
    LibraryReasons.must(
      ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate), "99991231235959Z"), "last day")
    Self.fill(X509_get_subject_name(certificate), with: subject)
    Self.fill(X509_get_issuer_name(certificate), with: issuer)
    LibraryReasons.must(X509_set_pubkey(certificate, publicKey), "public key")
    withUnsafeTemporaryAllocation(byteCount: X509V3_CTX_byteCount, alignment: MemoryLayout<Int>.alignment) { room in
      room.initializeMemory(as: UInt8.self, repeating: 0)
      let context = room.baseAddress.map { OpaquePointer($0) }
      X509V3_set_ctx(context, authority?.leaf, certificate, nil, nil, 0)
      for (kind, text) in extensions {
        let made = Owned(X509V3_EXT_nconf_nid(nil, context, kind, text), X509_EXTENSION_free)
        LibraryReasons.must(X509_add_ext(certificate, made.pointer, -1), "extension")
      }
    }
  }

  private static func fill(_ place: OpaquePointer?, with name: Name) {
    for (kind, text) in [(NID_organizationName, name.organisation), (NID_commonName, name.commonName)] {
      // The string type is explicit, because the default depends on a process-wide setting of libcrypto.
      LibraryReasons.must(
        X509_NAME_add_entry_by_NID(place, kind, V_ASN1_UTF8STRING, text, Int32(text.utf8.count), -1, 0), "name")
    }
  }
}

/// A certificate's envelope: PKCS#7 SignedData that contains certificates but no signed content.
enum Envelope {
  static func around(_ certificate: [UInt8]) -> [UInt8] {
    guard let parsed = ParsedCertificates.bare(certificate) else {
      preconditionFailure("the generated certificate cannot be read")
    }
    let certificates = Owned(OPENSSL_sk_new_null(), OPENSSL_sk_free)
    OPENSSL_sk_push(certificates.pointer, UnsafeRawPointer(parsed.leaf))
    // Without a key and with these flags, nothing is signed, and the field for signed data stays empty.
    let flags = UInt32(CMS_PARTIAL | CMS_DETACHED)
    let envelope = Owned(CMS_sign(nil, nil, certificates.pointer, nil, flags), CMS_ContentInfo_free)
    return encoded { i2d_CMS_ContentInfo(envelope.pointer, $0) }
  }
}
