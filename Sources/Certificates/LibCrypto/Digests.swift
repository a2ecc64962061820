enum Digests {
  static func sha1(_ bytes: [UInt8]) -> [UInt8] {
    digest(bytes, EVP_sha1(), count: 20)
  }

  static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    digest(bytes, EVP_sha256(), count: 32)
  }

  /// Uses SHAKE256 to derive the requested number of bytes from `bytes`.
  static func stretched(_ bytes: [UInt8], to length: Int) -> [UInt8] {
    let context = Owned(EVP_MD_CTX_new(), EVP_MD_CTX_free)
    LibraryReasons.must(EVP_DigestInit_ex(context.pointer, EVP_shake256(), nil), "SHAKE256")
    LibraryReasons.must(EVP_DigestUpdate(context.pointer, bytes, bytes.count), "SHAKE256")
    return [UInt8](unsafeUninitializedCapacity: length) { output, count in
      LibraryReasons.must(EVP_DigestFinalXOF(context.pointer, output.baseAddress, length), "SHAKE256")
      count = length
    }
  }

  private static func digest(_ bytes: [UInt8], _ kind: OpaquePointer?, count size: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: size) { output, count in
      LibraryReasons.must(EVP_Digest(bytes, bytes.count, output.baseAddress, nil, kind, nil), "digest")
      count = size
    }
  }

  /// Computes a keyed hash with a key of 32 bytes. Calls SHA-256 directly, because libcrypto's own HMAC takes several
  /// times as long for such short inputs.
  static func hmacSHA256(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
    precondition(key.count == 32, "only keys of 32 bytes are used")
    func hash(_ pad: UInt8, _ bytes: [UInt8]) -> [UInt8] {
      var state = SHA256_CTX()
      var block = [UInt8](repeating: pad, count: 64)
      for index in key.indices { block[index] ^= key[index] }
      SHA256_Init(&state)
      SHA256_Update(&state, block, block.count)
      SHA256_Update(&state, bytes, bytes.count)
      SHA256_Final(&block, &state)
      return Array(block[..<32])
    }
    return hash(0x5C, hash(0x36, bytes))
  }
}
