import CCrypto

/// One signature checked against a certificate's key.
enum PublicKeyCheck {
  /// Whether `response`, of its generation's size, signs `digest` with the key of `certificate`.
  static func holds(_ response: [UInt8], digest: [UInt8], certificate: AccessoryCertificate) -> Bool {
    defer { LibraryReasons.take() }
    let key = X509_get0_pubkey(certificate.parsed.leaf)
    guard let context = Owned(parsed: EVP_PKEY_CTX_new_from_pkey(nil, key, nil), EVP_PKEY_CTX_free),
      EVP_PKEY_verify_init(context.pointer) == 1
    else { return false }
    let signature: [UInt8]
    switch certificate.generation {
    case .current: signature = P256Signature(raw: response).der
    case .older:
      guard EVP_PKEY_CTX_set_rsa_padding(context.pointer, RSA_PKCS1_PADDING) == 1,
        EVP_PKEY_CTX_set_signature_md(context.pointer, EVP_sha1()) == 1
      else { return false }
      signature = response
    }
    // 0 is a wrong signature and less than 0 one that cannot be read; to a device they are the same.
    return EVP_PKEY_verify(context.pointer, signature, signature.count, digest, digest.count) == 1
  }
}
