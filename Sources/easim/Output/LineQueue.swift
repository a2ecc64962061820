import AccessoryCore
import AccessoryFormats

/// A queue of limited size for lines that are waiting to be written.
///
/// When the queue is full, it treats three kinds of entries differently:
///
/// - `line`: the oldest lines are dropped. The next ``take()`` reports, as a ``Gap``, how many were dropped.
/// - `kept`: lines are never dropped. ``room`` tells the caller to stop adding lines for now.
/// - `frame`: a drawing replaces an earlier one that is still waiting.
///
/// A queue is not thread-safe; ``OutputLane`` provides a lock and a thread.
struct LineQueue {
  enum Kind {
    case line
    case kept
    case frame
  }

  /// The bytes for one write call: one or more complete entries for the same target.
  struct Batch: Equatable {
    let target: Int
    var bytes: [UInt8]
    var lines: Int
  }

  struct Gap: Equatable {
    let target: Int
    var lines: Int
    var time: Instant
  }

  /// How close the queue is to its limit for lines that are never dropped.
  enum Room {
    case some
    case full
    /// The caller kept adding lines even though the queue was full.
    case tooFull
  }

  enum Piece: Equatable {
    case gap(Gap)
    case batch(Batch)
  }

  /// PIPE_BUF. A pipe accepts a write of up to this size completely or not at all, so the last line in the pipe is
  /// complete even if the reader stops reading.
  static let batchLimit = 4_096
  /// The maximum number of bytes in waiting lines. A single line may be longer.
  static let lineLimit = 4 << 20
  /// The queue is full when its `kept` lines add up to this many bytes.
  static let keptLimit = 1 << 20
  /// The queue is too full at this multiple of ``keptLimit``, because callers may still be adding lines when it fills
  /// up.
  private static let tooMuch = 32

  private struct Entry {
    let order: Int
    let kind: Kind
    var batch: Batch
  }

  private let lineLimit: Int
  private let keptLimit: Int
  private var lines = Queue<Entry>()
  private var kept = Queue<Entry>()
  private var gaps: [Gap] = []
  private var nextOrder = 0
  private var lineBytes = 0
  private(set) var keptBytes = 0

  init(lineLimit: Int = Self.lineLimit, keptLimit: Int = Self.keptLimit) {
    self.lineLimit = lineLimit
    self.keptLimit = keptLimit
  }

  var isEmpty: Bool { lines.isEmpty && kept.isEmpty && gaps.isEmpty }

  var room: Room { keptBytes < keptLimit ? .some : keptBytes < keptLimit * Self.tooMuch ? .full : .tooFull }

  var hasRoom: Bool { keptBytes <= keptLimit / 2 }

  mutating func add(_ bytes: [UInt8], _ kind: Kind, to target: Int, at time: Instant) {
    let count = kind == .frame ? 0 : max(1, bytes.count { $0 == UInt8(ascii: "\n") })
    let batch = Batch(target: target, bytes: bytes, lines: count)
    if kind == .frame, let last = lines.last, last.kind == .frame, last.order == nextOrder - 1,
      last.batch.target == target
    {
      lineBytes += bytes.count - last.batch.bytes.count
      lines[lines.count - 1] = Entry(order: last.order, kind: kind, batch: batch)
      return
    }
    append(Entry(order: nextOrder, kind: kind, batch: batch))
    nextOrder += 1
    while lineBytes > lineLimit, lines.count > 1, let oldest = lines.popFirst() {
      lineBytes -= oldest.batch.bytes.count
      note(oldest.batch, time)
    }
  }

  private mutating func append(_ entry: Entry) {
    if entry.kind == .kept {
      kept.append(entry)
      keptBytes += entry.batch.bytes.count
    } else {
      lines.append(entry)
      lineBytes += entry.batch.bytes.count
    }
  }

  private mutating func note(_ dropped: Batch, _ time: Instant) {
    guard dropped.lines > 0 else { return }
    if let index = gaps.firstIndex(where: { $0.target == dropped.target }) {
      gaps[index].lines += dropped.lines
      gaps[index].time = time
    } else {
      gaps.append(Gap(target: dropped.target, lines: dropped.lines, time: time))
    }
  }

  mutating func take() -> Piece? {
    if !gaps.isEmpty { return .gap(gaps.removeFirst()) }
    guard var batch = popNext()?.batch else { return nil }
    while let next, next.batch.target == batch.target, batch.bytes.count + next.batch.bytes.count <= Self.batchLimit {
      _ = popNext()
      batch.bytes += next.batch.bytes
      batch.lines += next.batch.lines
    }
    return .batch(batch)
  }

  private var next: Entry? {
    guard let line = lines.first else { return kept.first }
    guard let keptLine = kept.first else { return line }
    return line.order < keptLine.order ? line : keptLine
  }

  private mutating func popNext() -> Entry? {
    guard let next else { return nil }
    if next.kind == .kept {
      keptBytes -= next.batch.bytes.count
      return kept.popFirst()
    }
    lineBytes -= next.batch.bytes.count
    return lines.popFirst()
  }

  /// Removes all entries for a target, and returns how many lines the target has lost, including those dropped earlier.
  mutating func removeAll(for target: Int) -> Int {
    var count = 0
    for gap in gaps where gap.target == target { count += gap.lines }
    gaps.removeAll { $0.target == target }
    var left: [Entry] = []
    while let entry = popNext() {
      if entry.batch.target == target { count += entry.batch.lines } else { left.append(entry) }
    }
    for entry in left { append(entry) }
    return count
  }
}
