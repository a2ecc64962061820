// swift-format-ignore-file: AlwaysUseLowerCamelCase

// libcrypto's calls for certificates, envelopes and their encodings: see KeyCalls.swift.

@_extern(c) func ASN1_INTEGER_free(_ a: OpaquePointer?)
@_extern(c) func ASN1_OCTET_STRING_free(_ a: OpaquePointer?)
@discardableResult @_extern(c) func ASN1_STRING_get0_data(_ x: OpaquePointer?) -> UnsafePointer<UInt8>?
@discardableResult @_extern(c) func ASN1_STRING_length(_ x: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func ASN1_STRING_set(
  _ str: OpaquePointer?, _ data: UnsafeRawPointer?, _ len: Int32
) -> Int32
@discardableResult @_extern(c) func ASN1_TIME_set_string_X509(
  _ s: OpaquePointer?, _ str: UnsafePointer<CChar>?
) -> Int32
@discardableResult @_extern(c) func ASN1_get_object(
  _ pp: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ plength: UnsafeMutablePointer<Int>?,
  _ ptag: UnsafeMutablePointer<Int32>?, _ pclass: UnsafeMutablePointer<Int32>?, _ omax: Int
) -> Int32
@discardableResult @_extern(c) func BIO_free(_ a: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func BIO_new(_ type: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func BIO_new_mem_buf(_ buf: UnsafeRawPointer?, _ len: Int32) -> OpaquePointer?
@discardableResult @_extern(c) func BIO_read(
  _ b: OpaquePointer?, _ data: UnsafeMutableRawPointer?, _ dlen: Int32
) -> Int32
@discardableResult @_extern(c) func BIO_s_mem() -> OpaquePointer?
@discardableResult @_extern(c) func OBJ_nid2ln(_ n: Int32) -> UnsafePointer<CChar>?
@discardableResult @_extern(c) func OBJ_nid2sn(_ n: Int32) -> UnsafePointer<CChar>?
@discardableResult @_extern(c) func OBJ_obj2nid(_ o: OpaquePointer?) -> Int32
@_extern(c) func OPENSSL_sk_free(_: OpaquePointer?)
@discardableResult @_extern(c) func OPENSSL_sk_new_null() -> OpaquePointer?
@discardableResult @_extern(c) func OPENSSL_sk_num(_: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func OPENSSL_sk_push(_ st: OpaquePointer?, _ data: UnsafeRawPointer?) -> Int32
@discardableResult @_extern(c) func OPENSSL_sk_value(_: OpaquePointer?, _: Int32) -> UnsafeMutableRawPointer?
@discardableResult @_extern(c) func PEM_read_bio(
  _ bp: OpaquePointer?, _ name: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ header: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ data: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, _ len: UnsafeMutablePointer<Int>?
) -> Int32
@discardableResult @_extern(c) func PEM_write_bio(
  _ bp: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ hdr: UnsafePointer<CChar>?, _ data: UnsafePointer<UInt8>?,
  _ len: Int
) -> Int32
@discardableResult @_extern(c) func PKCS7_add_certificate(
  _ p7: OpaquePointer?, _ x509: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func PKCS7_content_new(_ p7: OpaquePointer?, _ nid: Int32) -> Int32
@_extern(c) func PKCS7_free(_ a: OpaquePointer?)
@discardableResult @_extern(c) func PKCS7_new() -> OpaquePointer?
@discardableResult @_extern(c) func PKCS7_set_type(_ p7: OpaquePointer?, _ type: Int32) -> Int32
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
@_extern(c) func X509_NAME_free(_ a: OpaquePointer?)
@discardableResult @_extern(c) func X509_NAME_new() -> OpaquePointer?
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
@_extern(c) func X509_STORE_free(_ v: OpaquePointer?)
@discardableResult @_extern(c) func X509_STORE_new() -> OpaquePointer?
@discardableResult @_extern(c) func X509_STORE_set_depth(_ store: OpaquePointer?, _ depth: Int32) -> Int32
@discardableResult @_extern(c) func X509_STORE_set_flags(_ ctx: OpaquePointer?, _ flags: UInt) -> Int32
@discardableResult @_extern(c) func X509_add_ext(_ x: OpaquePointer?, _ ex: OpaquePointer?, _ loc: Int32) -> Int32
@discardableResult @_extern(c) func X509_check_ca(_ x: OpaquePointer?) -> Int32
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
@discardableResult @_extern(c) func X509_set_issuer_name(_ x: OpaquePointer?, _ name: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func X509_set_pubkey(_ x: OpaquePointer?, _ pkey: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func X509_set_serialNumber(_ x: OpaquePointer?, _ serial: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func X509_set_subject_name(_ x: OpaquePointer?, _ name: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func X509_set_version(_ x: OpaquePointer?, _ version: Int) -> Int32
@discardableResult @_extern(c) func X509_sign(
  _ x: OpaquePointer?, _ pkey: OpaquePointer?, _ md: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func X509_up_ref(_ x: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func X509_verify_cert(_ ctx: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func X509_verify_cert_error_string(_ n: Int) -> UnsafePointer<CChar>?
@discardableResult @_extern(c) func d2i_PKCS7(
  _ a: UnsafeMutablePointer<OpaquePointer?>?, _ in: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ len: Int
) -> OpaquePointer?
@discardableResult @_extern(c) func d2i_X509(
  _ a: UnsafeMutablePointer<OpaquePointer?>?, _ in: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ len: Int
) -> OpaquePointer?
@discardableResult @_extern(c) func i2d_ECDSA_SIG(
  _ a: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
) -> Int32
@discardableResult @_extern(c) func i2d_PKCS7(
  _ a: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
) -> Int32
@discardableResult @_extern(c) func i2d_X509(
  _ a: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
) -> Int32
@discardableResult @_extern(c) func i2d_re_X509_tbs(
  _ x: OpaquePointer?, _ pp: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
) -> Int32
