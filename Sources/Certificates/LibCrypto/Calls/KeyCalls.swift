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
@discardableResult @_extern(c) func EVP_PKEY_assign(
  _ pkey: OpaquePointer?, _ type: Int32, _ key: UnsafeMutableRawPointer?
) -> Int32
@_extern(c) func EVP_PKEY_free(_ pkey: OpaquePointer?)
@discardableResult @_extern(c) func EVP_PKEY_get0_EC_KEY(_ pkey: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func EVP_PKEY_get0_RSA(_ pkey: OpaquePointer?) -> OpaquePointer?
@discardableResult @_extern(c) func EVP_PKEY_get_base_id(_ pkey: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_get_bits(_ pkey: OpaquePointer?) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_get_group_name(
  _ pkey: OpaquePointer?, _ name: UnsafeMutablePointer<CChar>?, _ name_sz: Int, _ gname_len: UnsafeMutablePointer<Int>?
) -> Int32
@discardableResult @_extern(c) func EVP_PKEY_new() -> OpaquePointer?
@discardableResult @_extern(c) func EVP_sha1() -> OpaquePointer?
@discardableResult @_extern(c) func EVP_sha256() -> OpaquePointer?
@discardableResult @_extern(c) func EVP_shake256() -> OpaquePointer?
@discardableResult @_extern(c) func OpenSSL_version(_ type: Int32) -> UnsafePointer<CChar>?
@discardableResult @_extern(c) func RAND_bytes(_ buf: UnsafeMutablePointer<UInt8>?, _ num: Int32) -> Int32
@discardableResult @_extern(c) func RSA_new() -> OpaquePointer?
@discardableResult @_extern(c) func RSA_set0_key(
  _ r: OpaquePointer?, _ n: OpaquePointer?, _ e: OpaquePointer?, _ d: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func RSA_sign(
  _ type: Int32, _ m: UnsafePointer<UInt8>?, _ m_length: UInt32, _ sigret: UnsafeMutablePointer<UInt8>?,
  _ siglen: UnsafeMutablePointer<UInt32>?, _ rsa: OpaquePointer?
) -> Int32
@discardableResult @_extern(c) func RSA_verify(
  _ type: Int32, _ m: UnsafePointer<UInt8>?, _ m_length: UInt32, _ sigbuf: UnsafePointer<UInt8>?, _ siglen: UInt32,
  _ rsa: OpaquePointer?
) -> Int32
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
