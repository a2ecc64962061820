/// Stores complete packets, in order, until the other end acknowledges them.
///
/// ```
///   │ free │ oldest … newest │ free │             after the newest wrapped around to the front:
///   │ … newest │ free │ oldest … │ rest │
/// ```
///
/// Packets are stored contiguously in sending order, so that many are sent in one write without a copy. A packet that
/// does not fit after the newest one goes to the front; packets are never split. The memory grows if there is no room
/// after the newest packet or at the front, and does not shrink while there are packets. The memory of an empty tape
/// goes back to where it was borrowed from, if anywhere, so a link with steady traffic allocates nothing. The memory
/// needs no separate limit, because the number of queued bytes is limited.
struct PacketTape {
  private var memory: [UInt8] = []
  /// Where the memory is borrowed from; nil if the tape keeps its own.
  var spares: SpareBuffers?
  /// The initial size, which is enough for everything that a device sends until an accessory is ready.
  private static let smallest = 128
  private static let blank = [UInt8](repeating: 0, count: smallest)
  private var head = 0
  private var tail = 0
  /// The end of the last packet before the wrap-around, or nil while the newest packet follows the oldest.
  private var turn: Int?

  /// Finds room for `count` bytes, after the newest packet or at the front. Returns nil if the memory must grow.
  mutating func reserve(_ count: Int) -> Int? {
    let end = tail + count
    if turn != nil {
      // One byte always stays free, to tell a full buffer from an empty one.
      guard end < head else { return nil }
      tail = end
      return end - count
    }
    if end <= memory.count {
      tail = end
      return end - count
    }
    guard count < head else { return nil }
    turn = tail
    tail = count
    return 0
  }

  /// Extends the newest packet in place. Returns false if there is no room after the packet.
  mutating func extendNewest(by count: Int) -> Bool {
    let end = tail + count
    guard turn == nil ? end <= memory.count : end < head else { return false }
    tail = end
    return true
  }

  /// Moves the newest packet (the `count` bytes at `place`) to the front, and makes the packet longer. Returns nil if
  /// there is no room.
  mutating func moveNewest(at place: Int, count: Int, extendedBy more: Int) -> Int? {
    guard turn == nil, count + more < head else { return nil }
    withMutable(0..<place + count) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[place...])) }
    if place == head { head = 0 } else { turn = place }
    tail = count + more
    return 0
  }

  /// Makes room for `count` more bytes, and moves all packets to the front, in order and without gaps.
  mutating func grow(by count: Int) {
    let live = turn.map { $0 - head + tail } ?? tail - head
    if live == 0, let spares {
      spares.lendFilled(to: &memory)
      (head, tail, turn) = (0, 0, nil)
      if memory.count >= count { return }
    }
    let size = max(live + count, 2 * memory.count, Self.smallest)
    if live == 0, size == Self.smallest {
      (memory, head, tail, turn) = (Self.blank, 0, 0, nil)
      return
    }
    var grown = [UInt8](repeating: 0, count: size)
    let front = head..<(turn ?? tail)
    grown.replaceSubrange(0..<front.count, with: memory[front])
    if turn != nil { grown.replaceSubrange(front.count..<live, with: memory[..<tail]) }
    (memory, head, tail, turn) = (grown, 0, live, nil)
  }

  /// Drops everything before `place`, where the oldest packet now starts.
  mutating func forget(before place: Int) {
    if place < head { turn = nil }
    head = place
  }

  mutating func clear() {
    (head, tail, turn) = (0, 0, nil)
    spares?.collectFilled(&memory)
  }

  mutating func releaseMemory() {
    clear()
    memory = []
  }

  func with<Result>(_ range: Range<Int>, _ body: (RawSpan) -> Result) -> Result {
    body(memory.span.bytes.extracting(range))
  }

  mutating func withMutable<Result>(_ range: Range<Int>, _ body: (UnsafeMutableRawBufferPointer) -> Result) -> Result {
    memory.withUnsafeMutableBytes { body(.init(rebasing: $0[range])) }
  }
}
