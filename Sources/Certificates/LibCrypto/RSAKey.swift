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
    var signature = [UInt8](repeating: 0, count: 128)
    var length: UInt32 = 0
    // Some systems forbid SHA-1 signatures by policy, so signing can fail even though the code is correct.
    guard RSA_sign(NID_sha1, digest, UInt32(digest.count), &signature, &length, EVP_PKEY_get0_RSA(key)) == 1,
      length == signature.count
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
    guard let rsa = RSA_new(), let key = EVP_PKEY_new() else {
      preconditionFailure("libcrypto is out of memory: \(LibraryReasons.take())")
    }
    // The keys take ownership of what is put into them.
    LibraryReasons.must(RSA_set0_key(rsa, BN_dup(n.pointer), BN_dup(e.pointer), BN_dup(d.pointer)), "RSA key")
    LibraryReasons.must(EVP_PKEY_assign(key, EVP_PKEY_RSA, UnsafeMutableRawPointer(rsa)), "RSA key")
    return key
  }
}
