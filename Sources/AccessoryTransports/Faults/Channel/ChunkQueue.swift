import AccessoryCore

/// Chunks of bytes in order, each with the time from which it may go on.
///
/// What a fault holds back and what the next one does not take yet both lie in one of these. Chunks keep their
/// boundaries until part of one is taken. The buffers are kept, so a queue in a steady state allocates nothing.
struct ChunkQueue {
  private struct Entry {
    var count: Int
    var due: Instant
  }

  private var tank: [UInt8] = []
  private var head = 0
  private var entries: [Entry] = []
  private var first = 0

  /// Bytes in the queue.
  var count: Int { tank.count - head }

  var isEmpty: Bool { first == entries.count }

  /// When the first chunk may go on; nil when there is none.
  var nextDue: Instant? { first < entries.count ? entries[first].due : nil }

  /// When the last chunk may go on; nil when there is none.
  var lastDue: Instant? { isEmpty ? nil : entries[entries.count - 1].due }

  /// Adds a chunk that may go on from `due`.
  mutating func append(_ bytes: RawSpan, due: Instant = .origin) {
    guard bytes.byteCount > 0 else { return }
    bytes.withUnsafeBytes { tank.append(contentsOf: $0) }
    entries.append(Entry(count: bytes.byteCount, due: due))
  }

  /// Offers the chunks that are due at `now` one after the other. `body` says how many bytes of the chunk it took; the
  /// rest stays in front, and a chunk not taken whole ends the offering. `body` must not touch this queue.
  mutating func drain(until now: Instant = .distantFuture, _ body: (RawSpan) -> Int) {
    while first < entries.count, entries[first].due <= now {
      let count = entries[first].count
      let taken = body(tank.span.bytes.extracting(head..<head + count))
      head += taken
      entries[first].count -= taken
      if taken < count { break }
      first += 1
    }
    compact()
  }

  mutating func removeAll() {
    tank.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
    head = 0
    first = 0
  }

  private mutating func compact() {
    if first == entries.count {
      removeAll()
    } else if head >= 16_384, head * 2 >= tank.count {
      tank.removeFirst(head)
      head = 0
      entries.removeFirst(first)
      first = 0
    }
  }
}
