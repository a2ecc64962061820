/// A bounded first-in, first-out buffer of bytes. Its owner protects it with a lock.
struct ByteBuffer {
  private var bytes: [UInt8] = []
  private var head = 0
  /// The limit, in bytes.
  let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  var count: Int { bytes.count - head }
  var isEmpty: Bool { count == 0 }
  var room: Int { max(0, capacity - count) }

  /// Appends as much as there is room for, or everything if `isForced`. Returns how much that was.
  mutating func append(_ source: UnsafeRawBufferPointer, isForced: Bool = false) -> Int {
    let taken = isForced ? source.count : min(room, source.count)
    if head > 0, head == bytes.count || bytes.count + taken > 2 * capacity {
      bytes.removeFirst(head)
      head = 0
    }
    bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: source[..<taken]))
    return taken
  }

  /// Moves as much as fits to `target`. Returns how much that was.
  mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
    let taken = min(count, target.count)
    bytes.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[head..<(head + taken)])) }
    drop(taken)
    return taken
  }

  /// Passes the bytes to `body`, which returns how many of them to remove.
  mutating func consume(_ body: (RawSpan) -> Int) {
    drop(body(bytes.span.bytes.extracting(head..<bytes.count)))
  }

  private mutating func drop(_ count: Int) {
    head += count
    if head == bytes.count {
      bytes.removeAll(keepingCapacity: true)
      head = 0
    }
  }
}
