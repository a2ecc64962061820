import Glibc

extension [UInt8] {
  /// Whether both are the same bytes. By the C library, because certificates are long and each is looked up several
  /// times while it is judged: a loop over the elements took longer than all else that a look-up needs.
  func isSame(as other: [UInt8]) -> Bool {
    guard count == other.count else { return false }
    return withUnsafeBufferPointer { own in
      other.withUnsafeBufferPointer { other in
        guard let own = own.baseAddress, let other = other.baseAddress else { return true }
        return memcmp(own, other, count) == 0
      }
    }
  }
}
