import IAP2

/// The bytes that one side sent, collected from the whole file. The stream finds and replaces the secrets in messages,
/// and corrects the checksums.
///
/// Packets are sorted because a message can span several packets. All copies of a retransmitted packet are changed.
/// Damaged packets and bytes outside packets are overwritten so that a decoder still reports the same damage.
struct WireStream {
  /// Whether the bytes are transfers on a native channel, which do not contain packets.
  let isNative: Bool
  private(set) var bytes: [UInt8] = []
  private var original: [UInt8] = []
  private var layout = WireLayout()

  init(isNative: Bool = false) { self.isNative = isNative }

  /// Appends bytes, and returns their range in the stream.
  mutating func append(_ more: some Collection<UInt8>) -> Range<Int> {
    let start = bytes.count
    bytes += more
    return start..<bytes.count
  }

  /// Adds the secrets in all messages of the stream to `names`.
  mutating func collect(into names: inout SecretNames) {
    original = bytes
    layout = isNative ? WireLayout(native: 0..<bytes.count) : WireLayout(bytes)
    for value in layout.values { names.add(text(value), value.kind) }
  }

  /// Returns the value. If the value is text, the terminating zeros are removed.
  private func text(_ value: WireLayout.Value) -> [UInt8] {
    var found = gather(value.ranges, of: original)
    while value.isText, found.last == 0 { found.removeLast() }
    return found
  }

  private func gather(_ ranges: [Range<Int>], of bytes: [UInt8]) -> [UInt8] { ranges.flatMap { bytes[$0] } }

  private mutating func scatter(_ new: [UInt8], _ ranges: [Range<Int>]) {
    var start = 0
    for range in ranges where start < new.count {
      let count = min(range.count, new.count - start)
      bytes.replaceSubrange(range.lowerBound..<range.lowerBound + count, with: new[start..<start + count])
      start += count
    }
  }

  mutating func rewrite(_ names: inout SecretNames) {
    for value in layout.values {
      if let name = names.name(of: text(value)) { scatter(name, value.ranges) }
    }
    for ranges in [layout.control] + Array(layout.data.values) {
      var all = gather(ranges, of: bytes)
      if names.replace(in: &all, isText: false) { scatter(all, ranges) }
    }
    if !names.kept.contains(.payload) {
      for ranges in layout.data.values { blank(ranges, where: { _ in true }) }
    }
    // The bytes FF, 5A and 55 are kept so that a decoder reports the same damage. Zeros are kept because they are
    // padding.
    blank(layout.damaged) { ![0x00, 0x55, 0x5A, 0xFF].contains($0) }
    for (copy, first) in layout.copies {
      for offset in 0..<copy.count {
        let difference = original[copy.lowerBound + offset] ^ original[first.lowerBound + offset]
        bytes[copy.lowerBound + offset] = bytes[first.lowerBound + offset] ^ difference
      }
    }
    for (payload, place) in layout.checksums {
      let before = original[payload].reduce(0, &+)
      let after = bytes[payload].reduce(0, &+)
      bytes[place] = original[place] &- (after &- before)
    }
  }

  private mutating func blank(_ ranges: [Range<Int>], where isBlanked: (UInt8) -> Bool) {
    for range in ranges {
      for place in range where isBlanked(original[place]) { bytes[place] = UInt8(ascii: "x") }
    }
  }
}
