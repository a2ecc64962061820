/// The order of the bytes of a number.
enum ByteOrder {
  case little
  case big
}

extension RandomAccessCollection<UInt8> where Index == Int {
  /// The number of `count` bytes at `position`, counted from the first byte. The bytes must be there.
  func number(at position: Int, _ count: Int, _ order: ByteOrder) -> UInt64 {
    var value: UInt64 = 0
    for index in 0..<count {
      let place = order == .big ? index : count - 1 - index
      value = value << 8 | UInt64(self[startIndex + position + place])
    }
    return value
  }

  func u16(at position: Int, _ order: ByteOrder) -> Int { Int(number(at: position, 2, order)) }

  func u32(at position: Int, _ order: ByteOrder) -> Int { Int(number(at: position, 4, order)) }
}

/// The bytes of a file that arrived and are not used yet, with their place in the file.
struct ByteWindow {
  private var bytes: [UInt8] = []
  private var start = 0
  /// The place in the file of the first byte of the window.
  private(set) var offset = 0

  var count: Int { bytes.count - start }

  /// All bytes of the window.
  var all: ArraySlice<UInt8> { bytes[start...] }

  mutating func append(_ more: [UInt8]) {
    if start == bytes.count {
      (bytes, start) = (more, 0)
      return
    }
    // What is left is less than one record, so moving it costs little.
    if start > 0 {
      bytes.removeSubrange(..<start)
      start = 0
    }
    bytes += more
  }

  func u16(at position: Int, _ order: ByteOrder) -> Int { all.u16(at: position, order) }

  func u32(at position: Int, _ order: ByteOrder) -> Int { all.u32(at: position, order) }

  /// Removes and returns the first `count` bytes, which must be there.
  mutating func take(_ count: Int) -> ArraySlice<UInt8> {
    defer {
      start += count
      offset += count
    }
    return bytes[start..<start + count]
  }

  /// Drops everything.
  mutating func clear() {
    offset += count
    (bytes, start) = ([], 0)
  }
}
