import CCrypto

final class ForeignKey {
  let key: OpaquePointer

  private init?(_ key: OpaquePointer?) {
    guard let key else { return nil }
    self.key = key
  }

  deinit {
    EVP_PKEY_free(key)
  }

  static func ed25519() -> ForeignKey? {
    ForeignKey(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, [UInt8](repeating: 1, count: 32), 32))
  }

  static func named(_ kind: String, group: String? = nil, bits: Int32 = 0) -> ForeignKey? {
    let context = EVP_PKEY_CTX_new_from_name(nil, kind, nil)
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_keygen_init(context) == 1 else { return nil }
    if let group, EVP_PKEY_CTX_set_group_name(context, group) != 1 { return nil }
    if bits > 0, EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) != 1 { return nil }
    var key: OpaquePointer?
    return EVP_PKEY_generate(context, &key) == 1 ? ForeignKey(key) : nil
  }
}
