import AccessoryCore
import AccessoryFormats
import AccessoryProfiles

// These types decide when the bytes of a session are passed on. Each type applies one quirk from
// AccessoryProfiles/Quirks/SessionBytes.swift.

/// Applies the quirk `drops-beyond`. The buffer is emptied at a given rate, once every hundredth of a second.
struct OverrunningBuffer {
  private let quirk: SmallBuffer
  private var waiting = ByteQueue()
  private(set) var deadline: Instant?

  init(_ quirk: SmallBuffer) {
    self.quirk = quirk
  }

  private var piece: Int { max(1, quirk.rate / 100) }
  private var interval: Duration { .nanoseconds(Int64(piece) * 1_000_000_000 / Int64(quirk.rate)) }

  mutating func receive(_ bytes: [UInt8], now: Instant) -> Int {
    let fitting = min(bytes.count, quirk.bytes - waiting.count)
    waiting.append(contentsOf: bytes[..<fitting])
    if deadline == nil, !waiting.isEmpty { deadline = now + interval }
    return bytes.count - fitting
  }

  /// Returns the bytes to take from the buffer now. `isIdle` is true if all earlier bytes have been read.
  mutating func handleTimeout(now: Instant, isIdle: Bool) -> [UInt8] {
    guard let due = deadline, due <= now else { return [] }
    deadline = now + interval
    guard isIdle else { return [] }
    let bytes = waiting.copy(0..<min(piece, waiting.count))
    waiting.removeFirst(bytes.count)
    if waiting.isEmpty { deadline = nil }
    return bytes
  }
}

/// Applies the quirk `reply-chunking` by deciding how many of the waiting bytes to send now.
struct ReplyChunker {
  enum Step: Equatable {
    case send(Int)
    case wait(until: Instant)
  }

  private let quirk: ReplyChunking
  private var random: SeededRandom
  private var ready: Instant?
  /// The length of the next piece. The length stays the same while the piece waits for room.
  private var piece: Int?

  init(_ quirk: ReplyChunking, _ random: SeededRandom) {
    (self.quirk, self.random) = (quirk, random)
  }

  mutating func next(waiting count: Int, now: Instant) -> Step {
    if quirk.pieces == .glued, ready == nil { ready = now + quirk.gap }
    if let ready, ready > now { return .wait(until: ready) }
    switch quirk.pieces {
    case .bytes: return .send(1)
    case .glued: return .send(count)
    case .split:
      let length = piece ?? Int.random(in: 1...quirk.size, using: &random)
      piece = length
      return .send(min(length, count))
    }
  }

  mutating func sent(now: Instant) {
    piece = nil
    ready = quirk.pieces == .glued ? nil : now + quirk.gap
  }
}

/// The last bytes that an accessory wrote in its sessions. If the accessory has the stale-bytes quirk, the endpoint
/// still holds these bytes when a session ends, and sends them in the next session.
///
/// Stale bytes do not outlive an attachment, because the endpoint is empty after the accessory reconnects.
struct StaleBytes: Equatable {
  private let limit: Int
  private var bytes: [UInt8] = []

  init(limit: Int) {
    self.limit = limit
  }

  mutating func keep(_ written: RawSpan) {
    let fresh = written.extracting(max(0, written.byteCount - limit)..<written.byteCount)
    bytes.removeFirst(max(0, bytes.count + fresh.byteCount - limit))
    fresh.withUnsafeBytes { bytes.append(contentsOf: $0) }
  }

  mutating func take() -> [UInt8] {
    defer { bytes.removeAll(keepingCapacity: true) }
    return bytes
  }
}
