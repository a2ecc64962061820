/// A hash of everything that happened in a world, in order: the same in every process, unlike Swift's own hashes.
struct RunningHash {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(_ word: UInt64) {
    value = (value ^ word) &* 0x0000_0100_0000_01B3
    value ^= value >> 31
  }

  mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { add($0.span.bytes) }
  }

  mutating func add(_ bytes: RawSpan) {
    add(UInt64(truncatingIfNeeded: bytes.byteCount))
    var offset = 0
    while offset + 8 <= bytes.byteCount {
      add(bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    var rest: UInt64 = 0
    while offset < bytes.byteCount {
      rest = rest << 8 | UInt64(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
      offset += 1
    }
    add(rest)
  }
}
