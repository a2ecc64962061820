extension Sequence<UInt8> {
  /// A hash (FNV-1a) that is the same in every process, unlike Swift's own. Inlined, because unspecialised it costs a call
  /// for each byte, many times in a flicker.
  @inlinable package var stableHash: UInt64 {
    reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
