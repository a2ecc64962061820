import CCrypto

/// The envelope that certificates travel in: PKCS#7 SignedData with certificates and nothing signed.
enum Envelope {
  /// Puts one X.509 certificate, in DER, into an envelope.
  static func around(_ certificate: [UInt8]) -> [UInt8] {
    guard let parsed = ParsedCertificates.bare(certificate) else {
      preconditionFailure("a certificate of our own making cannot be read")
    }
    let envelope = Owned(PKCS7_new(), PKCS7_free)
    LibraryReasons.must(PKCS7_set_type(envelope.pointer, NID_pkcs7_signed), "envelope")
    // A place for signed data, without the data: this is what makes the envelope carry certificates only.
    LibraryReasons.must(PKCS7_content_new(envelope.pointer, NID_pkcs7_data), "envelope")
    if let content = envelope.pointer.pointee.d.sign.pointee.contents {
      ASN1_OCTET_STRING_free(content.pointee.d.data)
      content.pointee.d.data = nil
    }
    LibraryReasons.must(PKCS7_add_certificate(envelope.pointer, parsed.leaf), "certificate in its envelope")
    return encoded { i2d_PKCS7(envelope.pointer, $0) }
  }
}
