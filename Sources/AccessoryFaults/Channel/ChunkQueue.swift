import AccessoryCore

/// Chunks of bytes in order, each with the time from which it may be passed on.
///
/// Both the bytes that a fault holds back and those that the next fault does not accept yet are in such a queue. Chunks
/// keep their boundaries until part of one is taken. Buffers are reused, so a queue in a steady state allocates
/// nothing.
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

  /// When the first chunk may be passed on; nil when there is none.
  var nextDue: Instant? { entries.first?.due }

  /// When the last chunk may be passed on; nil when there is none.
  var lastDue: Instant? { entries.last?.due }

  /// Adds a chunk that can be passed on from `due` on.
  mutating func append(_ bytes: RawSpan, due: Instant = .origin) {
    guard bytes.byteCount > 0 else { return }
    tank.append(bytes)
    entries.append(Entry(count: bytes.byteCount, due: due))
  }

  /// Calls `body` with each chunk whose time has come at `now`. `body` returns how many bytes of the chunk it
  /// accepted; when that is not the whole chunk, the rest stays in front and no more chunks are offered. `body` must
  /// not use this queue.
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
