/// A private RSA-1024 key for the older coprocessor, derived from a seed.
///
/// libcrypto generates keys only from the system's random numbers, so this type starts from hashed bytes and searches
/// upward for the two primes, using libcrypto's primality test. A real secret would need more than 1024 bits, but this
/// key is not secret.
final class RSAKey: SigningKey, @unchecked Sendable {
  let key: OpaquePointer

  private static let publicExponent: UInt = 65_537

  /// Creates the key for a seed, which takes a few milliseconds.
  init(derivedFrom seed: SeedStream) {
    let arithmetic = Owned(BN_CTX_new(), BN_CTX_free)
    let p = Self.prime(seed.bytes("RSA prime p", count: 64), arithmetic.pointer)
    let q = Self.prime(seed.bytes("RSA prime q", count: 64), arithmetic.pointer)
    key = Self.assembled(p.pointer, q.pointer, arithmetic.pointer)
  }

  deinit {
    EVP_PKEY_free(key)
  }

  /// Signs a SHA-1 digest with PKCS#1 1.5. The signature has 128 bytes.
  func response(signing digest: [UInt8]) throws(AuthenticatorError) -> [UInt8] {
    let context = Owned(EVP_PKEY_CTX_new_from_pkey(nil, key, nil), EVP_PKEY_CTX_free)
    var signature = [UInt8](repeating: 0, count: 128)
    var length = signature.count
    // Some systems forbid SHA-1 signatures by policy, so signing can fail even though the code is correct.
    guard EVP_PKEY_sign_init(context.pointer) == 1,
      EVP_PKEY_CTX_set_rsa_padding(context.pointer, RSA_PKCS1_PADDING) == 1,
      EVP_PKEY_CTX_set_signature_md(context.pointer, EVP_sha1()) == 1,
      EVP_PKEY_sign(context.pointer, &signature, &length, digest, digest.count) == 1, length == signature.count
    else { throw .librarySaidNo(LibraryReasons.take()) }
    return signature
  }

  /// Returns the first prime at or above `start` that suits the public exponent. The two highest bits of `start` are
  /// set first, so that the product of two primes has 1024 bits. The lowest bit is also set, because the primes are
  /// odd.
  private static func prime(_ start: [UInt8], _ arithmetic: OpaquePointer) -> Owned<OpaquePointer> {
    var start = start
    start[0] |= 0xC0
    start[start.count - 1] |= 1
    let candidate = Owned(BN_bin2bn(start, Int32(start.count), nil), BN_free)
    while true {
      let isPrime = BN_check_prime(candidate.pointer, arithmetic, nil)
      precondition(isPrime >= 0, "libcrypto could not test a prime: \(LibraryReasons.take())")
      if isPrime == 1, BN_mod_word(candidate.pointer, publicExponent) != 1 { return candidate }
      LibraryReasons.must(BN_add_word(candidate.pointer, 2), "next candidate")
    }
  }

  private static func assembled(_ p: OpaquePointer, _ q: OpaquePointer, _ arithmetic: OpaquePointer) -> OpaquePointer {
    func number(_ what: StaticString, _ compute: (OpaquePointer) -> Int32) -> Owned<OpaquePointer> {
      let made = Owned(BN_new(), BN_free)
      LibraryReasons.must(compute(made.pointer), what)
      return made
    }
    let one = number("1") { BN_set_word($0, 1) }
    let e = number("e") { BN_set_word($0, publicExponent) }
    let n = number("n") { BN_mul($0, p, q, arithmetic) }
    let pLess1 = number("p - 1") { BN_sub($0, p, one.pointer) }
    let qLess1 = number("q - 1") { BN_sub($0, q, one.pointer) }
    let totient = number("totient") { BN_mul($0, pLess1.pointer, qLess1.pointer, arithmetic) }
    let d = Owned(BN_mod_inverse(nil, e.pointer, totient.pointer, arithmetic), BN_free)
    let dP = number("d mod p - 1") { BN_nnmod($0, d.pointer, pLess1.pointer, arithmetic) }
    let dQ = number("d mod q - 1") { BN_nnmod($0, d.pointer, qLess1.pointer, arithmetic) }
    let coefficient = Owned(BN_mod_inverse(nil, q, p, arithmetic), BN_free)

    let builder = Owned(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free)
    let parts: [(StaticString, OpaquePointer)] = [
      ("n", n.pointer), ("e", e.pointer), ("d", d.pointer), ("rsa-factor1", p), ("rsa-factor2", q),
      ("rsa-exponent1", dP.pointer), ("rsa-exponent2", dQ.pointer), ("rsa-coefficient1", coefficient.pointer),
    ]
    for (name, number) in parts {
      // The builder keeps the pointer, so the string must be static and end with a zero byte.
      let key = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
      LibraryReasons.must(OSSL_PARAM_BLD_push_BN(builder.pointer, key, number), "RSA part")
    }
    let parameters = Owned(OSSL_PARAM_BLD_to_param(builder.pointer), OSSL_PARAM_free)
    let context = Owned(EVP_PKEY_CTX_new_from_name(nil, "RSA", nil), EVP_PKEY_CTX_free)
    LibraryReasons.must(EVP_PKEY_fromdata_init(context.pointer), "RSA key")
    var key: OpaquePointer?
    // The value of the macro EVP_PKEY_KEYPAIR, which Swift cannot import.
    let keyPair =
      OSSL_KEYMGMT_SELECT_ALL_PARAMETERS | OSSL_KEYMGMT_SELECT_PUBLIC_KEY | OSSL_KEYMGMT_SELECT_PRIVATE_KEY
    LibraryReasons.must(EVP_PKEY_fromdata(context.pointer, &key, keyPair, parameters.pointer), "RSA key")
    guard let key else { preconditionFailure("libcrypto created no RSA key but reported no error") }
    return key
  }
}
