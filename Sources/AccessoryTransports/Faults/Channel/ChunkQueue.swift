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

  private var tank = ByteQueue()
  private var entries = Queue<Entry>()

  /// Bytes in the queue.
  var count: Int { tank.count }

  var isEmpty: Bool { entries.isEmpty }

  /// When the first chunk may go on; nil when there is none.
  var nextDue: Instant? { entries.first?.due }

  /// When the last chunk may go on; nil when there is none.
  var lastDue: Instant? { entries.last?.due }

  /// Adds a chunk that may go on from `due`.
  mutating func append(_ bytes: RawSpan, due: Instant = .origin) {
    guard bytes.byteCount > 0 else { return }
    tank.append(bytes)
    entries.append(Entry(count: bytes.byteCount, due: due))
  }

  /// Offers the chunks that are due at `now` one after the other. `body` says how many bytes of the chunk it took; the
  /// rest stays in front, and a chunk not taken whole ends the offering. `body` must not touch this queue.
  mutating func drain(until now: Instant = .distantFuture, _ body: (RawSpan) -> Int) {
    while let chunk = entries.first, chunk.due <= now {
      let taken = tank.consume { body($0.extracting(first: chunk.count)) }
      if taken < chunk.count {
        entries[0].count -= taken
        break
      }
      entries.removeFirst(1)
    }
  }

  mutating func removeAll() {
    tank.removeAll()
    entries.removeAll()
  }
}
