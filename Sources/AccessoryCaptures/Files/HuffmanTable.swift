/// A code of deflate: from the next bits to a symbol and the length of its code.
struct HuffmanTable {
  /// The longest code.
  static let longest = 15

  /// By the next ``width`` bits: the symbol shifted by four, and the length; 0 for no code.
  private(set) var entries: [UInt16]
  let width: Int

  /// Nil when the lengths are more than codes can have. Codes may be unused, as a single distance leaves one.
  init?(lengths: some Collection<UInt8>) {
    var counts = [Int](repeating: 0, count: Self.longest + 1)
    for length in lengths { counts[Int(length)] += 1 }
    counts[0] = 0
    width = max(1, counts.lastIndex { $0 > 0 } ?? 1)
    var next = [Int](repeating: 0, count: Self.longest + 2)
    var left = 1
    for length in 1...Self.longest {
      left = left * 2 - counts[length]
      if left < 0 { return nil }
      next[length + 1] = (next[length] + counts[length]) << 1
    }
    entries = [UInt16](repeating: 0, count: 1 << width)
    for (symbol, length) in lengths.enumerated() where length > 0 {
      let length = Int(length)
      var code = next[length]
      next[length] += 1
      var reversed = 0
      for _ in 0..<length {
        reversed = reversed << 1 | code & 1
        code >>= 1
      }
      for index in stride(from: reversed, to: entries.count, by: 1 << length) {
        entries[index] = UInt16(symbol << 4 | length)
      }
    }
  }

  static let fixedLiterals = HuffmanTable(
    lengths: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
  static let fixedDistances = HuffmanTable(lengths: [UInt8](repeating: 5, count: 30))
}
