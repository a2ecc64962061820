import AccessoryCore
import AccessoryProfiles

/// Decides how many bytes a source may send when.
///
/// Chunk n is sent n intervals after the first; an interval is chunk ÷ rate. The times are fixed at the start, so
/// rounding and late timers do not add up: the average rate is exact to within one chunk at any time, and so to
/// within one per cent after a hundred chunks.
///
/// - Chunks with an interval below a millisecond are combined, a millisecond's worth at a time.
/// - Chunks that a late timer missed are sent at once, up to a tenth of a second or one interval, whichever is
/// longer. Chunks missed in a longer pause are skipped.
/// - **Back-pressure also skips.** When the session has no room, the current chunk is sent as soon as there is room,
/// and the schedule starts again one interval later, so at most one chunk follows at once.
///
/// States: `paced`, on schedule; `held`, the session took only part of a chunk; `finished`, the total is sent.
struct SourcePacer: Equatable {
  enum State: Equatable {
    case paced
    case held
    case finished
  }

  static let gatherTime = Duration.milliseconds(1)
  static let longestCatchUp = Duration.milliseconds(100)

  private(set) var state = State.paced
  /// How many bytes may go out now.
  private(set) var allowance = 0
  private let rate: Int64
  private let chunk: Int
  private let total: Int
  /// Bytes sent in all.
  private var sent = 0
  /// The time of chunk 0, and how many chunks were allowed since.
  private var origin: Instant
  private var chunks: Int64 = 0
  private var lastTick: Instant?

  /// A pacer whose first chunk is sent at `start`.
  init(_ source: Behavior.Source, start: Instant) {
    rate = Int64(source.rate)
    chunk = source.chunk
    total = source.total ?? .max
    origin = start
  }

  /// When ``tick(now:)`` has something to allow; nil while held and when finished.
  var deadline: Instant? {
    guard state == .paced, allowance < total - sent else { return nil }
    let due = due(chunks)
    return lastTick.map { max(due, $0 + Self.gatherTime) } ?? due
  }

  /// Allows the chunks whose time has come.
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

  /// The session took `count` bytes of those allowed.
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

  /// The session has no room: only the current chunk, or the next one, is still allowed.
  mutating func hold() {
    guard state == .paced else { return }
    state = .held
    allowance = min(allowance, chunk - sent % chunk)
  }

  /// The interval of a chunk in nanoseconds, times the rate: whole where the interval is not.
  private var nanosecondsTimesRate: Int128 { Int128(chunk) * 1_000_000_000 }

  /// The time of chunk `number`, rounded up to the nanosecond.
  private func due(_ number: Int64) -> Instant {
    let nanoseconds = (Int128(number) * nanosecondsTimesRate + Int128(rate) - 1) / Int128(rate)
    return origin + .nanoseconds(Int64(clamping: nanoseconds))
  }
}
