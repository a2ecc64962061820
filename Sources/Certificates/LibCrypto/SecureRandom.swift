import CCrypto

/// Chance that nobody can predict, for challenges to real accessories. Everything that should repeat itself takes its
/// chance from `SeededRandom` instead.
public enum SecureRandom {
  /// `count` bytes from libcrypto's generator. Traps where the system has no entropy to give: a challenge that can be
  /// guessed proves nothing.
  public static func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { output, filled in
      LibraryReasons.must(RAND_bytes(output.baseAddress, Int32(count)), "random bytes")
      filled = count
    }
  }
}
