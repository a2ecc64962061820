// swift-format-ignore-file: AlwaysUseLowerCamelCase

// libcrypto's calls for certificates, envelopes and their encodings; see KeyCalls.swift.

import Glibc

@discardableResult @_extern(c) func ASN1_STRING_get0_data(_ x: OpaquePointer?) -> UnsafePointer<UInt8>?
@discardableResult @_extern(c) func ASN1_STRING_length(_ x: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func ASN1_STRING_set(
  _ str: OpaquePointer?, _ data: UnsafeRawPointer?, _ len: Int32
) -> Int32
@discardableResult @_extern(c) func ASN1_TIME_set_string_X509(
  _ s: OpaquePointer?, _ str: UnsafePointer<CChar>?
) -> Int32
@discardableResult @_extern(c) func ASN1_TIME_to_tm(_ s: OpaquePointer?, _ tm: UnsafeMutablePointer<tm>?) -> Int32
@discardableResult @_extern(c) func ASN1_get_object(
  _ pp: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ plength: UnsafeMutablePointer<Int>?,
  _ ptag: UnsafeMutablePointer<Int32>?, _ pclass: UnsafeMutablePointer<Int32>?, _ omax: Int
) -> Int32
@discardableResult @_extern(c) func BIO_free(_ a: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func BIO_new(_ type: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func BIO_read(
  _ b: OpaquePointer?, _ data: UnsafeMutableRawPointer?, _ dlen: Int32
) -> Int32
@discardableResult @_extern(c) func BIO_s_mem() -> OpaquePointer?
@_extern(c) func CMS_ContentInfo_free(_ cms: OpaquePointer?)
@discardableResult @_extern(c) func CMS_get0_type(_ cms: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func CMS_get1_certs(_ cms: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func CMS_sign(
  _ signcert: OpaquePointer?, _ pkey: OpaquePointer?, _ certs: OpaquePointer?, _ data: OpaquePointer?, _ flags: UInt32
) -> OpaquePointer?
@discardableResult @_extern(c) func OBJ_nid2ln(_ n: Int32) -> UnsafePointer<CChar>?
@discardableResult @_extern(c) func OBJ_nid2sn(_ n: Int32) -> UnsafePointer<CChar>?
@discardableResult @_extern(c) func OBJ_obj2nid(_ o: OpaquePointer?) -> Int32
@_extern(c) func OPENSSL_sk_free(_: OpaquePointer?)
@discardableResult @_extern(c) func OPENSSL_sk_new_null() -> OpaquePointer?
@discardableResult @_extern(c) func OPENSSL_sk_num(_: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func OPENSSL_sk_push(_ st: OpaquePointer?, _ data: UnsafeRawPointer?) -> Int32
@discardableResult @_extern(c) func OPENSSL_sk_value(_: OpaquePointer?, _: Int32) -> UnsafeMutableRawPointer?
@discardableResult @_extern(c) func X509V3_EXT_nconf_nid(
  _ conf: OpaquePointer?, _ ctx: OpaquePointer?, _ ext_nid: Int32, _ value: UnsafePointer<CChar>?
) -> OpaquePointer?
@_extern(c) func X509V3_set_ctx(
  _ ctx: OpaquePointer?, _ issuer: OpaquePointer?, _ subject: OpaquePointer?, _ req: OpaquePointer?,
  _ crl: OpaquePointer?, _ flags: Int32)
@_extern(c) func X509_EXTENSION_free(_ a: OpaquePointer?)
@discardableResult @_extern(c) func X509_NAME_add_entry_by_NID(
  _ name: OpaquePointer?, _ nid: Int32, _ type: Int32, _ bytes: UnsafePointer<UInt8>?, _ len: Int32, _ loc: Int32,
  _ set: Int32
) -> Int32
@discardableResult @_extern(c) func X509_NAME_print_ex(
  _ out: OpaquePointer?, _ nm: OpaquePointer?, _ indent: Int32, _ flags: UInt
) -> Int32
@_extern(c) func X509_STORE_CTX_free(_ ctx: OpaquePointer?)
@discardableResult @_extern(c) func X509_STORE_CTX_get_error(_ ctx: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func X509_STORE_CTX_init(
  _ ctx: OpaquePointer?, _ trust_store: OpaquePointer?, _ target: OpaquePointer?, _ untrusted: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func X509_STORE_CTX_new() -> OpaquePointer?
@discardableResult @_extern(c) func X509_STORE_add_cert(_ ctx: OpaquePointer?, _ x: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func X509_STORE_new() -> OpaquePointer?
@discardableResult @_extern(c) func X509_STORE_set_depth(_ store: OpaquePointer?, _ depth: Int32) -> Int32
@discardableResult @_extern(c) func X509_STORE_set_flags(_ ctx: OpaquePointer?, _ flags: UInt) -> Int32
@discardableResult @_extern(c) func X509_add_ext(_ x: OpaquePointer?, _ ex: OpaquePointer?, _ loc: Int32) -> Int32
@discardableResult @_extern(c) func X509_check_ca(_ x: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func X509_cmp_time(_ s: OpaquePointer?, _ t: UnsafeMutablePointer<time_t>?) -> Int32
@_extern(c) func X509_free(_ a: OpaquePointer?)
@discardableResult @_extern(c) func X509_get0_pubkey(_ x: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func X509_get0_serialNumber(_ x: OpaquePointer?) -> OpaquePointer?
@_extern(c) func X509_get0_signature(
  _ psig: UnsafeMutablePointer<OpaquePointer?>?, _ palg: UnsafeMutablePointer<OpaquePointer?>?, _ x: OpaquePointer?)
@discardableResult @_extern(c) func X509_get_issuer_name(_ a: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func X509_get_subject_name(_ a: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func X509_getm_notAfter(_ x: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func X509_getm_notBefore(_ x: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func X509_new() -> OpaquePointer?
@discardableResult @_extern(c) func X509_set_pubkey(_ x: OpaquePointer?, _ pkey: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func X509_set_version(_ x: OpaquePointer?, _ version: Int) -> Int32
@discardableResult @_extern(c) func X509_sign(
  _ x: OpaquePointer?, _ pkey: OpaquePointer?, _ md: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func X509_verify_cert(_ ctx: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func X509_verify_cert_error_string(_ n: Int) -> UnsafePointer<CChar>?
@discardableResult @_extern(c) func d2i_CMS_ContentInfo(
  _ a: UnsafeMutablePointer<OpaquePointer?>?, _ in: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ len: Int
) -> OpaquePointer?
@discardableResult @_extern(c) func d2i_X509(
  _ a: UnsafeMutablePointer<OpaquePointer?>?, _ in: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ len: Int
) -> OpaquePointer?
@discardableResult @_extern(c) func i2d_ECDSA_SIG(
  _ a: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
) -> Int32
@discardableResult @_extern(c) func i2d_CMS_ContentInfo(
  _ a: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
) -> Int32
@discardableResult @_extern(c) func i2d_X509(
  _ a: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
) -> Int32
@discardableResult @_extern(c) func i2d_re_X509_tbs(
  _ x: OpaquePointer?, _ pp: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
) -> Int32

// Constants from libcrypto's headers.

let ASN1_STRFLGS_ESC_2253: Int32 = 1
let ASN1_STRFLGS_ESC_CTRL: Int32 = 2
let ASN1_STRFLGS_ESC_MSB: Int32 = 4
let ASN1_STRFLGS_UTF8_CONVERT: Int32 = 16
let CMS_DETACHED: Int32 = 64
let CMS_PARTIAL: Int32 = 16384
let EVP_PKEY_EC: Int32 = 408
let EVP_PKEY_RSA: Int32 = 6
let NID_X9_62_prime256v1: Int32 = 415
let NID_authority_key_identifier: Int32 = 90
let NID_basic_constraints: Int32 = 87
let NID_commonName: Int32 = 13
let NID_key_usage: Int32 = 83
let NID_netscape_comment: Int32 = 78
let NID_organizationName: Int32 = 17
let NID_pkcs7_signed: Int32 = 22
let NID_sha1: Int32 = 64
let NID_subject_key_identifier: Int32 = 82
let OPENSSL_VERSION: Int32 = 0
let V_ASN1_CONSTRUCTED: Int32 = 32
let V_ASN1_UTF8STRING: Int32 = 12
let X509_V_FLAG_IGNORE_CRITICAL: Int32 = 16
let X509_V_FLAG_NO_CHECK_TIME: Int32 = 2097152
let XN_FLAG_SEP_CPLUS_SPC: Int32 = 131072

/// Memory for an `X509V3_CTX`, which consists of seven pointers and a number.
let X509V3_CTX_byteCount = 8 * MemoryLayout<Int>.stride
