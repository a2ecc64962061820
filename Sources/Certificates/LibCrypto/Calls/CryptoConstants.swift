// swift-format-ignore-file: AlwaysUseLowerCamelCase

// Constants and visible structures of libcrypto's headers, which its binary interface fixes: see KeyCalls.swift.

let ASN1_STRFLGS_ESC_2253: Int32 = 1
let ASN1_STRFLGS_ESC_CTRL: Int32 = 2
let ASN1_STRFLGS_ESC_MSB: Int32 = 4
let ASN1_STRFLGS_UTF8_CONVERT: Int32 = 16
let EVP_PKEY_EC: Int32 = 408
let EVP_PKEY_RSA: Int32 = 6
let NID_X9_62_prime256v1: Int32 = 415
let NID_authority_key_identifier: Int32 = 90
let NID_basic_constraints: Int32 = 87
let NID_commonName: Int32 = 13
let NID_key_usage: Int32 = 83
let NID_netscape_comment: Int32 = 78
let NID_organizationName: Int32 = 17
let NID_pkcs7_data: Int32 = 21
let NID_pkcs7_signed: Int32 = 22
let NID_subject_key_identifier: Int32 = 82
let OPENSSL_VERSION: Int32 = 0
let OSSL_KEYMGMT_SELECT_ALL_PARAMETERS: Int32 = 132
let OSSL_KEYMGMT_SELECT_PRIVATE_KEY: Int32 = 1
let OSSL_KEYMGMT_SELECT_PUBLIC_KEY: Int32 = 2
let PEM_STRING_X509: String = "CERTIFICATE"
let RSA_PKCS1_PADDING: Int32 = 1
let V_ASN1_CONSTRUCTED: Int32 = 32
let V_ASN1_UTF8STRING: Int32 = 12
let X509_V_FLAG_IGNORE_CRITICAL: Int32 = 16
let X509_V_FLAG_NO_CHECK_TIME: Int32 = 2097152
let X509_V_FLAG_PARTIAL_CHAIN: Int32 = 524288
let XN_FLAG_SEP_CPLUS_SPC: Int32 = 131072

/// `struct pkcs7_st` up to its content; the library allocates it.
struct PKCS7 {
  var asn1: UnsafeMutablePointer<UInt8>?
  var length: Int
  var state: Int32
  var detached: Int32
  /// The kind of the content, an `ASN1_OBJECT`.
  var type: OpaquePointer?
  var d: Content

  /// The union of what an envelope can hold: a pointer in each case.
  struct Content {
    /// Of an envelope of signed data.
    var sign: UnsafeMutablePointer<PKCS7_SIGNED>?

    /// Of the content within, an `ASN1_OCTET_STRING`.
    var data: OpaquePointer? {
      get { sign.map { OpaquePointer($0) } }
      set { sign = newValue.map { UnsafeMutablePointer($0) } }
    }
  }
}

/// `struct pkcs7_signed_st`.
struct PKCS7_SIGNED {
  var version: OpaquePointer?
  var md_algs: OpaquePointer?
  var cert: OpaquePointer?
  var crl: OpaquePointer?
  var signer_info: OpaquePointer?
  var contents: UnsafeMutablePointer<PKCS7>?
}

/// Room for an `X509V3_CTX`, which is seven pointers and a number.
let X509V3_CTX_byteCount = 8 * MemoryLayout<Int>.stride
