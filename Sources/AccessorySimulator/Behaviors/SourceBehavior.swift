import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import IAP2

/// Sends data at a fixed rate while the session is open, as a sensor does. ``SourcePacer`` decides when to send, and
/// ``SourcePattern`` decides what to send. Received bytes are accepted and dropped.
public struct SourceBehavior: AccessoryBehavior {
  private let source: Behavior.Source

  /// Creates a source.
  public init(_ source: Behavior.Source = Behavior.Source()) {
    self.source = source
  }

  /// Returns a handler that sends data without waiting for requests.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    let talker = Talker(source, session, on: context.loop)
    talker.talk()
    return talker
  }

  private final class Talker: SessionHandler {
    /// The maximum number of bytes that are generated at a time, even if the pacer allows more.
    private static let pieceLimit = 64 * 1024

    private unowned let session: Session
    private let loop: any EventLoop
    private var pacer: SourcePacer
    private var pattern: SourcePattern
    private var piece = ByteQueue()
    private var timer: LoopTimer?
    private let sending = OneAtATime()

    init(_ source: Behavior.Source, _ session: Session, on loop: any EventLoop) {
      self.session = session
      self.loop = loop
      pacer = SourcePacer(source, start: loop.now)
      // Each session sends different bytes, but two runs with the same seed send the same bytes.
      var random = loop.random.derived("source")
      pattern = SourcePattern(source.pattern, random: SeededRandom(seed: random.next() ^ UInt64(session.id)))
      timer = loop.makeTimer { [unowned self] in talk() }
    }

    func talk() {
      pacer.tick(now: loop.now)
      send()
    }

    private func send() {
      sending.run { sendWhatIsAllowed() }
      if session.isOpen, let deadline = pacer.deadline { timer?.arm(at: deadline) }
    }

    private func sendWhatIsAllowed() {
      while pacer.allowance > 0 {
        if piece.isEmpty { piece.refill { pattern.append(min(pacer.allowance, Self.pieceLimit), to: &$0) } }
        // The pacer may allow fewer bytes now than when the piece was generated.
        let allowed = min(piece.count, pacer.allowance)
        let taken = piece.withBytes { session.write($0.extracting(first: allowed)) }
        piece.removeFirst(taken)
        pacer.took(taken, now: loop.now)
        if taken < allowed {
          pacer.hold()
          return
        }
      }
    }

    func sessionIsReadable(_ session: Session) { session.read { $0.byteCount } }

    func sessionIsWritable(_ session: Session) { send() }

    func session(_ session: Session, endedWith end: SessionEnd) { timer?.cancel() }
  }
}

/// Decides how many bytes a source may send, and when.
///
/// Chunk n is sent n intervals after the first chunk. The interval is the chunk size divided by the rate. All times are
/// relative to the start, so rounding errors and late timers do not accumulate. The number of bytes sent is always
/// exact to within one chunk, and the average rate is exact to within one percent after a hundred chunks.
///
/// - If the interval is below a millisecond, a millisecond's worth of chunks is sent at a time.
/// - If a timer is late, missed chunks are sent immediately, up to the number that fits in a tenth of a second or one
/// interval, whichever is longer. Other missed chunks are skipped.
/// - Back-pressure skips chunks, too. If the session has no room, the current chunk is sent as soon as there is room,
/// and the schedule restarts one interval later, so no more than one chunk follows immediately.
///
/// The pacer is `paced` while it is on schedule, `held` while the session has accepted only part of a chunk, and
/// `finished` once the total has been sent.
struct SourcePacer: Equatable {
  enum State: Equatable {
    case paced
    case held
    case finished
  }

  static let gatherTime = Duration.milliseconds(1)
  static let longestCatchUp = Duration.milliseconds(100)

  private(set) var state = State.paced
  private(set) var allowance = 0
  private let rate: Int64
  private let chunk: Int
  private let total: Int
  private var sent = 0
  private var origin: Instant
  private var chunks: Int64 = 0
  private var lastTick: Instant?

  init(_ source: Behavior.Source, start: Instant) {
    rate = Int64(source.rate)
    chunk = source.chunk
    total = source.total ?? .max
    origin = start
  }

  /// When ``tick(now:)`` next allows bytes, or nil if the pacer is held or finished.
  var deadline: Instant? {
    guard state == .paced, allowance < total - sent else { return nil }
    let due = due(chunks)
    return lastTick.map { max(due, $0 + Self.gatherTime) } ?? due
  }

  mutating func tick(now: Instant) {
    guard state == .paced else { return }
    lastTick = now
    let lateness = now - due(chunks)
    guard lateness >= .zero else { return }
    let longest = max(Self.longestCatchUp, due(1) - origin)
    if lateness > longest {
      origin = now + (.zero - longest)
      chunks = 0
    }
    let count = Int64(Int128((now - origin).wholeNanoseconds) * Int128(rate) / nanosecondsTimesRate) + 1
    allowance = min(allowance + Int(count - chunks) * chunk, total - sent)
    chunks = count
  }

  mutating func took(_ count: Int, now: Instant) {
    precondition(count <= allowance, "a source must not send more than allowed")
    allowance -= count
    sent += count
    if sent == total {
      state = .finished
    } else if state == .held, allowance == 0 {
      state = .paced
      origin = now
      chunks = 1
    }
  }

  /// Holds the source back while the session has no room. Only the current chunk is still allowed or, if the current
  /// chunk has been sent, the next one.
  mutating func hold() {
    guard state == .paced else { return }
    state = .held
    allowance = min(allowance, chunk - sent % chunk)
  }

  /// The interval in nanoseconds multiplied by the rate. The product is a whole number even if the interval is not.
  private var nanosecondsTimesRate: Int128 { Int128(chunk) * 1_000_000_000 }

  private func due(_ number: Int64) -> Instant {
    let nanoseconds = (Int128(number) * nanosecondsTimesRate + Int128(rate) - 1) / Int128(rate)
    return origin + .nanoseconds(Int64(clamping: nanoseconds))
  }
}

struct SourcePattern {
  private let pattern: Behavior.Source.Pattern
  private let text: [UInt8]
  private var random: SeededRandom
  private var sent = 0

  init(_ pattern: Behavior.Source.Pattern, random: SeededRandom) {
    (self.pattern, self.random) = (pattern, random)
    if case .text(let text) = pattern { self.text = Array(text.utf8) } else { text = [] }
  }

  /// Appends the next `count` bytes. If the text is empty, which profiles do not allow, the bytes are zeros.
  mutating func append(_ count: Int, to bytes: inout [UInt8]) {
    bytes.reserveCapacity(bytes.count + count)
    for index in sent..<sent + count {
      switch pattern {
      case .counting: bytes.append(UInt8(truncatingIfNeeded: index))
      case .text: bytes.append(text.isEmpty ? 0 : text[index % text.count])
      case .random: bytes.append(UInt8(truncatingIfNeeded: random.next() >> 56))
      }
    }
    sent += count
  }
}
