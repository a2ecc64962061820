/// The 8-bit sums of iAP2: the checksum is the byte that brings the sum of everything before it to zero.
public enum Checksum {
  /// The byte that makes the sum of `bytes` and itself zero.
  public static func of(_ bytes: RawSpan) -> UInt8 {
    0 &- sum(bytes)
  }

  /// The sum of `bytes` modulo 256.
  ///
  /// In explicit vectors, whose lanes may wrap because only the low eight bits count: an optimised build would find
  /// them itself, a debug build is a hundred times slower without.
  public static func sum(_ bytes: RawSpan) -> UInt8 {
    bytes.withUnsafeBytes { buffer in
      var lanes = SIMD32<UInt8>()
      var offset = 0
      let vectors = buffer.count & ~31
      while offset < vectors {
        lanes &+= buffer.loadUnaligned(fromByteOffset: offset, as: SIMD32<UInt8>.self)
        offset += 32
      }
      var total = lanes.wrappedSum()
      while offset < buffer.count {
        total &+= buffer[offset]
        offset += 1
      }
      return total
    }
  }
}
