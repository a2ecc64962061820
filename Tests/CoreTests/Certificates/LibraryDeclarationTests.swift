import CCrypto
import Testing

@testable import Certificates

/// easim has its own declarations of libcrypto's functions. These tests compare easim's declarations with libcrypto's
/// headers.
@Suite struct LibraryDeclarationTests {
  @Test func constantsAreThoseOfTheHeaders() {
    let pairs: [(ours: Int32, header: Int32)] = [
      (Certificates.ASN1_STRFLGS_ESC_2253, CCrypto.ASN1_STRFLGS_ESC_2253),
      (Certificates.ASN1_STRFLGS_ESC_CTRL, CCrypto.ASN1_STRFLGS_ESC_CTRL),
      (Certificates.ASN1_STRFLGS_ESC_MSB, CCrypto.ASN1_STRFLGS_ESC_MSB),
      (Certificates.ASN1_STRFLGS_UTF8_CONVERT, CCrypto.ASN1_STRFLGS_UTF8_CONVERT),
      (Certificates.CMS_DETACHED, CCrypto.CMS_DETACHED), (Certificates.CMS_PARTIAL, CCrypto.CMS_PARTIAL),
      (Certificates.EVP_PKEY_EC, CCrypto.EVP_PKEY_EC),
      (Certificates.EVP_PKEY_RSA, CCrypto.EVP_PKEY_RSA),
      (Certificates.NID_X9_62_prime256v1, CCrypto.NID_X9_62_prime256v1),
      (Certificates.NID_authority_key_identifier, CCrypto.NID_authority_key_identifier),
      (Certificates.NID_basic_constraints, CCrypto.NID_basic_constraints),
      (Certificates.NID_commonName, CCrypto.NID_commonName),
      (Certificates.NID_key_usage, CCrypto.NID_key_usage),
      (Certificates.NID_netscape_comment, CCrypto.NID_netscape_comment),
      (Certificates.NID_organizationName, CCrypto.NID_organizationName),
      (Certificates.NID_pkcs7_signed, CCrypto.NID_pkcs7_signed),
      (Certificates.NID_sha1, CCrypto.NID_sha1),
      (Certificates.NID_subject_key_identifier, CCrypto.NID_subject_key_identifier),
      (Certificates.OPENSSL_VERSION, CCrypto.OPENSSL_VERSION),
      (Certificates.V_ASN1_CONSTRUCTED, CCrypto.V_ASN1_CONSTRUCTED),
      (Certificates.V_ASN1_UTF8STRING, CCrypto.V_ASN1_UTF8STRING),
      (Certificates.X509_V_FLAG_IGNORE_CRITICAL, CCrypto.X509_V_FLAG_IGNORE_CRITICAL),
      (Certificates.X509_V_FLAG_NO_CHECK_TIME, CCrypto.X509_V_FLAG_NO_CHECK_TIME),
      (Certificates.XN_FLAG_SEP_CPLUS_SPC, CCrypto.XN_FLAG_SEP_CPLUS_SPC),
    ]
    for (row, pair) in pairs.enumerated() { #expect(pair.ours == pair.header, "row \(row)") }
  }

  @Test func thereIsRoomForTheContextsOfExtensionsAndDigests() {
    #expect(Certificates.X509V3_CTX_byteCount >= MemoryLayout<X509V3_CTX>.size)
    #expect(MemoryLayout<Certificates.SHA256_CTX>.size >= MemoryLayout<CCrypto.SHA256_CTX>.size)
  }
}
