/// A bounded run of bytes between two threads, under its owner's lock.
struct ByteBuffer {
  private var bytes: [UInt8] = []
  private var head = 0
  /// How many bytes it takes at most.
  let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  var count: Int { bytes.count - head }
  var isEmpty: Bool { count == 0 }
  var room: Int { max(0, capacity - count) }

  /// Takes as much as there is room for; all of it, where `isForced`.
  mutating func append(_ source: UnsafeRawBufferPointer, isForced: Bool = false) -> Int {
    let taken = isForced ? source.count : min(room, source.count)
    if head > 0, head == bytes.count || bytes.count + taken > 2 * capacity {
      bytes.removeFirst(head)
      head = 0
    }
    bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: source[..<taken]))
    return taken
  }

  /// Moves as much as fits to `target` and says how much that was.
  mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
    let taken = min(count, target.count)
    bytes.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[head..<(head + taken)])) }
    drop(taken)
    return taken
  }

  /// Lends what is there; `body` says how much of it is done with.
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
