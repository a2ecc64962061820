import AccessoryCore
import AccessoryFormats
import AccessoryProfiles

// When bytes of one session pass. Each machine plays one quirk of AccessoryProfiles/Quirks/SessionBytes.swift.

/// Plays `drops-beyond`: a buffer that is worked off at a rate, a hundredth of a second at a time.
struct OverrunningBuffer {
  private let quirk: SmallBuffer
  private var waiting = ByteQueue()
  /// When the next piece was worked off.
  private(set) var deadline: Instant?

  init(_ quirk: SmallBuffer) {
    self.quirk = quirk
  }

  private var piece: Int { max(1, quirk.rate / 100) }
  private var interval: Duration { .nanoseconds(Int64(piece) * 1_000_000_000 / Int64(quirk.rate)) }

  /// Bytes arrived. Returns how many did not fit.
  mutating func receive(_ bytes: [UInt8], now: Instant) -> Int {
    let fitting = min(bytes.count, quirk.bytes - waiting.count)
    waiting.append(contentsOf: bytes[..<fitting])
    if deadline == nil, !waiting.isEmpty { deadline = now + interval }
    return bytes.count - fitting
  }

  /// Returns what was worked off by now. `isIdle`: whether the reader has read everything before.
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

/// Plays `reply-chunking`: how many of the waiting bytes go out now.
struct ReplyChunker {
  /// What to do with the bytes that wait.
  enum Step: Equatable {
    /// Send so many, as one piece.
    case send(Int)
    /// Not before then.
    case wait(until: Instant)
  }

  private let quirk: ReplyChunking
  private var random: SeededRandom
  private var ready: Instant?
  /// The length of the piece that is next, which must not change while it waits for room.
  private var piece: Int?

  init(_ quirk: ReplyChunking, _ random: SeededRandom) {
    (self.quirk, self.random) = (quirk, random)
  }

  /// The next step, with `count` bytes waiting.
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

  /// A piece went out.
  mutating func sent(now: Instant) {
    piece = nil
    ready = quirk.pieces == .glued ? nil : now + quirk.gap
  }
}

/// The last bytes that an accessory wrote in its sessions, for the stale-bytes quirk: what an endpoint still holds when
/// a session ends, and gives to the next.
///
/// They belong to one plug-in: a device that is connected anew finds an endpoint without a past.
struct StaleBytes: Equatable {
  private let limit: Int
  private var bytes: [UInt8] = []

  /// Keeps at most `limit` bytes.
  init(limit: Int) {
    self.limit = limit
  }

  /// A session wrote these.
  mutating func keep(_ written: RawSpan) {
    let fresh = written.extracting(max(0, written.byteCount - limit)..<written.byteCount)
    bytes.removeFirst(max(0, bytes.count + fresh.byteCount - limit))
    fresh.withUnsafeBytes { bytes.append(contentsOf: $0) }
  }

  /// Gives them to a new session.
  mutating func take() -> [UInt8] {
    defer { bytes.removeAll(keepingCapacity: true) }
    return bytes
  }
}
