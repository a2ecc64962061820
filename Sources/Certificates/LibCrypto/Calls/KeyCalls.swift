// swift-format-ignore-file: AlwaysUseLowerCamelCase

// libcrypto's calls for numbers, keys, digests and signatures. The calls are declared by hand. If a module imported
// libcrypto's headers, every app that imports ExternalAccessory would also need the C module and those headers. The
// names are libcrypto's own, and a test compares the types and constants with the headers.

@_extern(c) func BN_CTX_free(_ c: OpaquePointer?)
@discardableResult @_extern(c) func BN_CTX_new() -> OpaquePointer?
@discardableResult @_extern(c) func BN_add_word(_ a: OpaquePointer?, _ w: UInt) -> Int32
@discardableResult @_extern(c) func BN_bin2bn(
  _ s: UnsafePointer<UInt8>?, _ len: Int32, _ ret: OpaquePointer?
) -> OpaquePointer?
@discardableResult @_extern(c) func BN_bn2binpad(
  _ a: OpaquePointer?, _ to: UnsafeMutablePointer<UInt8>?, _ tolen: Int32
) -> Int32
@discardableResult @_extern(c) func BN_check_prime(
  _ p: OpaquePointer?, _ ctx: OpaquePointer?, _ cb: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func BN_dup(_ a: OpaquePointer?) -> OpaquePointer?
@_extern(c) func BN_free(_ a: OpaquePointer?)
@discardableResult @_extern(c) func BN_is_zero(_ a: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func BN_mod_inverse(
  _ ret: OpaquePointer?, _ a: OpaquePointer?, _ n: OpaquePointer?, _ ctx: OpaquePointer?
) -> OpaquePointer?
@discardableResult @_extern(c) func BN_mod_word(_ a: OpaquePointer?, _ w: UInt) -> UInt
@discardableResult @_extern(c) func BN_mul(
  _ r: OpaquePointer?, _ a: OpaquePointer?, _ b: OpaquePointer?, _ ctx: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func BN_new() -> OpaquePointer?
@discardableResult @_extern(c) func BN_nnmod(
  _ r: OpaquePointer?, _ a: OpaquePointer?, _ m: OpaquePointer?, _ ctx: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func BN_set_word(_ a: OpaquePointer?, _ w: UInt) -> Int32
@discardableResult @_extern(c) func BN_sub(_ r: OpaquePointer?, _ a: OpaquePointer?, _ b: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func BN_to_ASN1_INTEGER(_ bn: OpaquePointer?, _ ai: OpaquePointer?) -> OpaquePointer?
@_extern(c) func ECDSA_SIG_free(_ sig: OpaquePointer?)
@discardableResult @_extern(c) func ECDSA_SIG_get0_r(_ sig: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func ECDSA_SIG_get0_s(_ sig: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func ECDSA_SIG_new() -> OpaquePointer?
@discardableResult @_extern(c) func ECDSA_SIG_set0(
  _ sig: OpaquePointer?, _ r: OpaquePointer?, _ s: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func ECDSA_do_sign_ex(
  _ dgst: UnsafePointer<UInt8>?, _ dgstlen: Int32, _ kinv: OpaquePointer?, _ rp: OpaquePointer?, _ eckey: OpaquePointer?
) -> OpaquePointer?
@discardableResult @_extern(c) func ECDSA_do_verify(
  _ dgst: UnsafePointer<UInt8>?, _ dgst_len: Int32, _ sig: OpaquePointer?, _ eckey: OpaquePointer?
) -> Int32
@_extern(c) func EC_GROUP_free(_ group: OpaquePointer?)
@discardableResult @_extern(c) func EC_GROUP_get0_order(_ group: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func EC_GROUP_new_by_curve_name(_ nid: Int32) -> OpaquePointer?
@_extern(c) func EC_KEY_free(_ key: OpaquePointer?)
@discardableResult @_extern(c) func EC_KEY_get0_group(_ key: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func EC_KEY_new_by_curve_name(_ nid: Int32) -> OpaquePointer?
@discardableResult @_extern(c) func EC_KEY_set_private_key(_ key: OpaquePointer?, _ prv: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func EC_KEY_set_public_key(_ key: OpaquePointer?, _ pub: OpaquePointer?) -> Int32
@_extern(c) func EC_POINT_free(_ point: OpaquePointer?)
@discardableResult @_extern(c) func EC_POINT_get_affine_coordinates(
  _ group: OpaquePointer?, _ p: OpaquePointer?, _ x: OpaquePointer?, _ y: OpaquePointer?, _ ctx: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func EC_POINT_mul(
  _ group: OpaquePointer?, _ r: OpaquePointer?, _ n: OpaquePointer?, _ q: OpaquePointer?, _ m: OpaquePointer?,
  _ ctx: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func EC_POINT_new(_ group: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func ERR_get_error() -> UInt
@discardableResult @_extern(c) func ERR_reason_error_string(_ e: UInt) -> UnsafePointer<CChar>?
@discardableResult @_extern(c) func EVP_DecodeBlock(
  _ t: UnsafeMutablePointer<UInt8>?, _ f: UnsafePointer<UInt8>?, _ n: Int32
) -> Int32
@discardableResult @_extern(c) func EVP_Digest(
  _ data: UnsafeRawPointer?, _ count: Int, _ md: UnsafeMutablePointer<UInt8>?, _ size: UnsafeMutablePointer<UInt32>?,
  _ type: OpaquePointer?, _ impl: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func EVP_DigestFinalXOF(
  _ ctx: OpaquePointer?, _ md: UnsafeMutablePointer<UInt8>?, _ len: Int
) -> Int32
@discardableResult @_extern(c) func EVP_DigestInit_ex(
  _ ctx: OpaquePointer?, _ type: OpaquePointer?, _ impl: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func EVP_DigestUpdate(_ ctx: OpaquePointer?, _ d: UnsafeRawPointer?, _ cnt: Int) -> Int32
@discardableResult @_extern(c) func EVP_EncodeBlock(
  _ t: UnsafeMutablePointer<UInt8>?, _ f: UnsafePointer<UInt8>?, _ n: Int32
) -> Int32
@_extern(c) func EVP_MD_CTX_free(_ ctx: OpaquePointer?)
@discardableResult @_extern(c) func EVP_MD_CTX_new() -> OpaquePointer?
@_extern(c) func EVP_PKEY_CTX_free(_ ctx: OpaquePointer?)
@discardableResult @_extern(c) func EVP_PKEY_CTX_new_from_name(
  _ libctx: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ propquery: UnsafePointer<CChar>?
) -> OpaquePointer?
@discardableResult @_extern(c) func EVP_PKEY_CTX_new_from_pkey(
  _ libctx: OpaquePointer?, _ pkey: OpaquePointer?, _ propquery: UnsafePointer<CChar>?
) -> OpaquePointer?
@discardableResult @_extern(c) func EVP_PKEY_CTX_set_rsa_padding(_ ctx: OpaquePointer?, _ pad_mode: Int32) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_CTX_set_signature_md(_ ctx: OpaquePointer?, _ md: OpaquePointer?) -> Int32
@_extern(c) func EVP_PKEY_free(_ pkey: OpaquePointer?)
@discardableResult @_extern(c) func EVP_PKEY_fromdata(
  _ ctx: OpaquePointer?, _ ppkey: UnsafeMutablePointer<OpaquePointer?>?, _ selection: Int32, _ param: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_fromdata_init(_ ctx: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_get0_EC_KEY(_ pkey: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func EVP_PKEY_get_base_id(_ pkey: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_get_bits(_ pkey: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_get_group_name(
  _ pkey: OpaquePointer?, _ name: UnsafeMutablePointer<CChar>?, _ name_sz: Int, _ gname_len: UnsafeMutablePointer<Int>?
) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_new() -> OpaquePointer?
@discardableResult @_extern(c) func EVP_PKEY_set1_EC_KEY(_ pkey: OpaquePointer?, _ key: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_sign(
  _ ctx: OpaquePointer?, _ sig: UnsafeMutablePointer<UInt8>?, _ siglen: UnsafeMutablePointer<Int>?,
  _ tbs: UnsafePointer<UInt8>?, _ tbslen: Int
) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_sign_init(_ ctx: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_verify(
  _ ctx: OpaquePointer?, _ sig: UnsafePointer<UInt8>?, _ siglen: Int, _ tbs: UnsafePointer<UInt8>?, _ tbslen: Int
) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_verify_init(_ ctx: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func EVP_sha1() -> OpaquePointer?
@discardableResult @_extern(c) func EVP_sha256() -> OpaquePointer?
@discardableResult @_extern(c) func EVP_shake256() -> OpaquePointer?
@_extern(c) func OSSL_PARAM_BLD_free(_ bld: OpaquePointer?)
@discardableResult @_extern(c) func OSSL_PARAM_BLD_new() -> OpaquePointer?
@discardableResult @_extern(c) func OSSL_PARAM_BLD_push_BN(
  _ bld: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ bn: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func OSSL_PARAM_BLD_to_param(_ bld: OpaquePointer?) -> OpaquePointer?
@_extern(c) func OSSL_PARAM_free(_ p: OpaquePointer?)
@discardableResult @_extern(c) func OpenSSL_version(_ type: Int32) -> UnsafePointer<CChar>?
@discardableResult @_extern(c) func RAND_bytes(_ buf: UnsafeMutablePointer<UInt8>?, _ num: Int32) -> Int32
@discardableResult @_extern(c) func SHA256_Final(
  _ md: UnsafeMutablePointer<UInt8>?, _ c: UnsafeMutableRawPointer?
) -> Int32
@discardableResult @_extern(c) func SHA256_Init(_ c: UnsafeMutableRawPointer?) -> Int32
@discardableResult @_extern(c) func SHA256_Update(
  _ c: UnsafeMutableRawPointer?, _ data: UnsafeRawPointer?, _ len: Int
) -> Int32

/// Memory for an `SHA256_CTX`.
struct SHA256_CTX {
  private var words = InlineArray<14, UInt64>(repeating: 0)
}
