import AccessoryCore
import AccessoryProfiles

/// Decides how many bytes a source may send when.
///
/// Chunk number n is due n intervals after the first, an interval being chunk ÷ rate. The times lie on a grid that is
/// fixed at the start, so neither rounding nor late timers add up, and the average rate is the one that was asked for:
/// within a chunk of it at any time, and so within one per cent after a hundred chunks.
///
/// - Chunks of less than a millisecond's interval go out gathered, a millisecond's worth at a time.
/// - What a late timer missed is made up for, up to a tenth of a second or one interval, whichever is longer. What a
///   longer standstill missed is lost time, not a burst.
/// - **Back-pressure is lost time too.** When the session takes no more, the chunk that was begun goes out as soon as
///   there is room, and the grid begins anew one interval after it: never more than one chunk follows at once.
///
/// States: `paced`, on the grid; `held`, a chunk was begun and the session took only part of it; `finished`, the total
/// is sent.
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
  /// When chunk 0 of the grid is due, and how many chunks of it were allowed since.
  private var origin: Instant
  private var chunks: Int64 = 0
  private var lastTick: Instant?

  /// A pacer whose first chunk is due at `start`.
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

  /// Time has come: allows what is due.
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
    precondition(count <= allowance, "a source sends no more than it is allowed")
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

  /// The session takes no more: only the chunk that is begun, or would be next, is still allowed.
  mutating func hold() {
    guard state == .paced else { return }
    state = .held
    allowance = min(allowance, chunk - sent % chunk)
  }

  /// The interval of a chunk in nanoseconds, times the rate: whole where the interval is not.
  private var nanosecondsTimesRate: Int128 { Int128(chunk) * 1_000_000_000 }

  /// When chunk `number` of the grid is due, rounded up to the nanosecond.
  private func due(_ number: Int64) -> Instant {
    let nanoseconds = (Int128(number) * nanosecondsTimesRate + Int128(rate) - 1) / Int128(rate)
    return origin + .nanoseconds(Int64(clamping: nanoseconds))
  }
}
