/// Owns one libcrypto object for as long as a function needs it, and frees it at the end of its scope.
///
/// Noncopyable, so that nothing is freed twice. What outlives a function is owned by a class with a `deinit`
/// (``P256Key``, ``RSAKey``, ``ParsedCertificates``, ``ChainJudge``).
///
/// ```swift
/// let order = Owned(BN_new(), BN_free)
/// BN_set_word(order.pointer, 7)
/// ```
struct Owned<Pointer>: ~Copyable {
  let pointer: Pointer
  private let free: (Pointer?) -> Void

  /// Takes what a call made that only fails without memory, or when we handed it nonsense: a null traps.
  init(_ made: Pointer?, _ free: @escaping (Pointer?) -> Void) {
    guard let made else { preconditionFailure("libcrypto made nothing of our own values: \(LibraryReasons.take())") }
    pointer = made
    self.free = free
  }

  /// Takes what a parser made of bytes from outside; nil when it refused them.
  init?(parsed: Pointer?, _ free: @escaping (Pointer?) -> Void) {
    guard let parsed else { return nil }
    pointer = parsed
    self.free = free
  }

  deinit {
    free(pointer)
  }
}
