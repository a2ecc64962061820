import CCrypto
import Testing

@testable import Certificates

/// libcrypto is called by declarations of our own; here they are held against its headers.
@Suite struct LibraryDeclarationTests {
  private static let constants: [(String, Int32, Int32)] = [
    ("ASN1_STRFLGS_ESC_2253", Certificates.ASN1_STRFLGS_ESC_2253, CCrypto.ASN1_STRFLGS_ESC_2253),
    ("ASN1_STRFLGS_ESC_CTRL", Certificates.ASN1_STRFLGS_ESC_CTRL, CCrypto.ASN1_STRFLGS_ESC_CTRL),
    ("ASN1_STRFLGS_ESC_MSB", Certificates.ASN1_STRFLGS_ESC_MSB, CCrypto.ASN1_STRFLGS_ESC_MSB),
    ("ASN1_STRFLGS_UTF8_CONVERT", Certificates.ASN1_STRFLGS_UTF8_CONVERT, CCrypto.ASN1_STRFLGS_UTF8_CONVERT),
    ("EVP_PKEY_EC", Certificates.EVP_PKEY_EC, CCrypto.EVP_PKEY_EC),
    ("EVP_PKEY_RSA", Certificates.EVP_PKEY_RSA, CCrypto.EVP_PKEY_RSA),
    ("NID_X9_62_prime256v1", Certificates.NID_X9_62_prime256v1, CCrypto.NID_X9_62_prime256v1),
    ("NID_authority_key_identifier", Certificates.NID_authority_key_identifier, CCrypto.NID_authority_key_identifier),
    ("NID_basic_constraints", Certificates.NID_basic_constraints, CCrypto.NID_basic_constraints),
    ("NID_commonName", Certificates.NID_commonName, CCrypto.NID_commonName),
    ("NID_key_usage", Certificates.NID_key_usage, CCrypto.NID_key_usage),
    ("NID_netscape_comment", Certificates.NID_netscape_comment, CCrypto.NID_netscape_comment),
    ("NID_organizationName", Certificates.NID_organizationName, CCrypto.NID_organizationName),
    ("NID_pkcs7_data", Certificates.NID_pkcs7_data, CCrypto.NID_pkcs7_data),
    ("NID_pkcs7_signed", Certificates.NID_pkcs7_signed, CCrypto.NID_pkcs7_signed),
    ("NID_subject_key_identifier", Certificates.NID_subject_key_identifier, CCrypto.NID_subject_key_identifier),
    ("OPENSSL_VERSION", Certificates.OPENSSL_VERSION, CCrypto.OPENSSL_VERSION),
    (
      "OSSL_KEYMGMT_SELECT_ALL_PARAMETERS", Certificates.OSSL_KEYMGMT_SELECT_ALL_PARAMETERS,
      CCrypto.OSSL_KEYMGMT_SELECT_ALL_PARAMETERS
    ),
    (
      "OSSL_KEYMGMT_SELECT_PRIVATE_KEY", Certificates.OSSL_KEYMGMT_SELECT_PRIVATE_KEY,
      CCrypto.OSSL_KEYMGMT_SELECT_PRIVATE_KEY
    ),
    (
      "OSSL_KEYMGMT_SELECT_PUBLIC_KEY", Certificates.OSSL_KEYMGMT_SELECT_PUBLIC_KEY,
      CCrypto.OSSL_KEYMGMT_SELECT_PUBLIC_KEY
    ),
    ("RSA_PKCS1_PADDING", Certificates.RSA_PKCS1_PADDING, CCrypto.RSA_PKCS1_PADDING),
    ("V_ASN1_CONSTRUCTED", Certificates.V_ASN1_CONSTRUCTED, CCrypto.V_ASN1_CONSTRUCTED),
    ("V_ASN1_UTF8STRING", Certificates.V_ASN1_UTF8STRING, CCrypto.V_ASN1_UTF8STRING),
    ("X509_V_FLAG_IGNORE_CRITICAL", Certificates.X509_V_FLAG_IGNORE_CRITICAL, CCrypto.X509_V_FLAG_IGNORE_CRITICAL),
    ("X509_V_FLAG_NO_CHECK_TIME", Certificates.X509_V_FLAG_NO_CHECK_TIME, CCrypto.X509_V_FLAG_NO_CHECK_TIME),
    ("X509_V_FLAG_PARTIAL_CHAIN", Certificates.X509_V_FLAG_PARTIAL_CHAIN, CCrypto.X509_V_FLAG_PARTIAL_CHAIN),
    ("XN_FLAG_SEP_CPLUS_SPC", Certificates.XN_FLAG_SEP_CPLUS_SPC, CCrypto.XN_FLAG_SEP_CPLUS_SPC),
  ]

  @Test func constantsAreThoseOfTheHeaders() {
    for (name, ours, theirs) in Self.constants { #expect(ours == theirs, "\(name)") }
    #expect(Certificates.PEM_STRING_X509 == CCrypto.PEM_STRING_X509)
  }

  @Test func theFieldsOfAnEnvelopeLieWhereTheHeadersHaveThem() {
    typealias Ours = Certificates.PKCS7
    typealias Theirs = CCrypto.PKCS7
    #expect(MemoryLayout<Ours>.offset(of: \.type) == MemoryLayout<Theirs>.offset(of: \.type))
    #expect(MemoryLayout<Ours>.offset(of: \.d) == MemoryLayout<Theirs>.offset(of: \.d))
    typealias OurSigned = Certificates.PKCS7_SIGNED
    typealias TheirSigned = CCrypto.PKCS7_SIGNED
    #expect(MemoryLayout<OurSigned>.offset(of: \.cert) == MemoryLayout<TheirSigned>.offset(of: \.cert))
    #expect(MemoryLayout<OurSigned>.offset(of: \.contents) == MemoryLayout<TheirSigned>.offset(of: \.contents))
    #expect(Certificates.X509V3_CTX_byteCount >= MemoryLayout<X509V3_CTX>.size)
  }
}
