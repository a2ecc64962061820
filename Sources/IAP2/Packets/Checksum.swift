/// The 8-bit sums of iAP2: the checksum is the byte that brings the sum of everything before it to zero.
public enum Checksum {
  /// The byte that makes the sum of `bytes` and itself zero.
  public static func of(_ bytes: RawSpan) -> UInt8 {
    0 &- sum(bytes)
  }

  /// The sum of `bytes` modulo 256.
  ///
  /// With explicit vectors, whose lanes may overflow because only the low eight bits count. An optimised build would
  /// vectorise a loop as well, but in a debug build the loop is a hundred times slower.
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
      var half = lanes.lowHalf &+ lanes.highHalf
      if buffer.count & 16 != 0 {
        half &+= buffer.loadUnaligned(fromByteOffset: offset, as: SIMD16<UInt8>.self)
        offset += 16
      }
      var quarter = half.lowHalf &+ half.highHalf
      if buffer.count & 8 != 0 {
        quarter &+= buffer.loadUnaligned(fromByteOffset: offset, as: SIMD8<UInt8>.self)
        offset += 8
      }
      // Halved until few are left: taking all lanes out one by one would cost as much as hundreds of bytes of payload.
      let eighth = quarter.lowHalf &+ quarter.highHalf
      let pair = eighth.lowHalf &+ eighth.highHalf
      var total = pair.x &+ pair.y
      while offset < buffer.count {
        total &+= buffer[offset]
        offset += 1
      }
      return total
    }
  }

  /// Copies `bytes` to the front of `target` and returns their sum.
  ///
  /// Two passes, and still faster than one loop that does both, for nothing copies like the system. Over long bytes they
  /// take turns, so that the second finds in the nearest cache what the first has brought there.
  static func copy(_ bytes: RawSpan, to target: UnsafeMutableRawBufferPointer) -> UInt8 {
    var total: UInt8 = 0
    var start = 0
    while start < bytes.byteCount {
      let part = bytes.extracting(start..<min(start + block, bytes.byteCount))
      total &+= sum(part)
      part.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: target[start...]).copyMemory(from: $0) }
      start += part.byteCount
    }
    return total
  }

  /// A third of the smallest first-level cache in use, as room for input and output.
  private static let block = 10 * 1024
}
