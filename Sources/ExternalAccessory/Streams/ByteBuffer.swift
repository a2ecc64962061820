internal import AccessoryCore

/// A bounded first-in, first-out buffer of bytes. Its owner protects it with a lock.
struct ByteBuffer {
  private var bytes = ByteQueue()
  /// The limit, in bytes.
  let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  var count: Int { bytes.count }
  var isEmpty: Bool { bytes.isEmpty }
  var room: Int { max(0, capacity - count) }

  /// Appends as much as there is room for, or everything if `isForced`. Returns how much that was.
  mutating func append(_ source: UnsafeRawBufferPointer, isForced: Bool = false) -> Int {
    let taken = isForced ? source.count : min(room, source.count)
    bytes.append(UnsafeRawBufferPointer(rebasing: source[..<taken]).bytes)
    return taken
  }

  /// Moves as much as fits to `target`. Returns how much that was.
  mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
    bytes.consume { span in
      let taken = min(span.byteCount, target.count)
      span.extracting(first: taken).withUnsafeBytes { target.copyMemory(from: $0) }
      return taken
    }
  }

  /// Passes the bytes to `body`, which returns how many of them to remove.
  mutating func consume(_ body: (RawSpan) -> Int) { bytes.consume(body) }
}
