import AccessoryCore
import AccessoryFormats

/// One fault in one direction, as a pure machine: chunks and times go in; bytes to pass on, with their times, come out.
///
/// A stage has no timer and no channel. Its lane gives it a chunk once all its earlier output has been accepted, calls
/// it at its deadline, and notifies it when its window begins and ends.
///
/// Invariants: a stage accepts every chunk as a whole; it holds at most its capacity plus one chunk, and `room` is
/// how much it accepts; it passes bytes on in the order in which they arrive at the other end.
protocol FaultStage {
  /// The number of held bytes that the stage will still pass on. The end of the stream waits for them.
  var held: Int { get }

  /// The maximum number of bytes it accepts now; 0 makes the sender wait.
  var room: Int { get }

  /// When to call ``handleTimeout(_:)``.
  var deadline: Instant? { get }

  /// The window opens: the channel has started, or the time `after` has passed.
  mutating func begin(_ step: inout FaultStep)

  /// Handles a chunk of bytes.
  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage

  /// Called at ``deadline``.
  mutating func handleTimeout(_ step: inout FaultStep)

  /// The window closes. Held bytes may be passed on at their own pace; once none are held, it gets no more chunks.
  mutating func end(_ step: inout FaultStep)

  /// The stream ends after the last chunk: bytes that were only waiting for more bytes are passed on.
  mutating func finish(_ step: inout FaultStep)
}

extension FaultStage {
  var held: Int { 0 }
  var room: Int { FaultStep.largestChunk }
  var deadline: Instant? { nil }
  mutating func begin(_ step: inout FaultStep) {}
  mutating func handleTimeout(_ step: inout FaultStep) {}
  mutating func end(_ step: inout FaultStep) {}
  mutating func finish(_ step: inout FaultStep) {}
}

/// The result of handling a chunk.
enum FaultPassage {
  /// The chunk is passed on unchanged: nothing was copied, and nothing more is held.
  case whole
  /// The stage has passed on everything that it wants to pass on now.
  case changed
}

/// What a stage can use during one call: the time, its random numbers, and where to put its results.
struct FaultStep {
  /// The maximum number of bytes that a stage is given at once, so that its output is bounded.
  static let largestChunk = 256 * 1024

  var now = Instant.origin
  var random: SeededRandom
  /// Bytes that were passed on but not accepted yet.
  var output = ChunkQueue()
  /// The effects of the fault so far.
  private(set) var count = FaultCount()
  /// Events that users should see.
  private(set) var news: [String] = []
  /// Whether ``struck`` is wanted.
  var keepsStruck = false
  /// The packets that the fault acted on, as they were before.
  private(set) var struck: [[UInt8]] = []
  /// Why the channel is to be cut; nil if it is not.
  private(set) var cut: String?

  init(random: SeededRandom) {
    self.random = random
  }

  /// Passes bytes on.
  mutating func pass(_ bytes: RawSpan) {
    output.append(bytes)
  }

  /// The fault took effect, on this many bytes.
  mutating func hit(bytes: Int) {
    count.hits += 1
    count.bytes += bytes
  }

  /// The fault acts on this packet.
  mutating func strike(_ packet: RawSpan) {
    if keepsStruck { struck.append(packet.withUnsafeBytes { [UInt8]($0) }) }
  }

  mutating func takeStruck() -> [[UInt8]] {
    defer { struck.removeAll() }
    return struck
  }

  /// Reports an event that users should see.
  mutating func report(_ text: String) {
    news.append(text)
  }

  /// Cuts the channel.
  mutating func cutChannel(_ why: String) {
    cut = why
    report(why)
  }

  mutating func takeNews() -> [String] {
    defer { news.removeAll() }
    return news
  }
}

/// How often a fault took effect.
public struct FaultCount: Equatable, Sendable {
  /// The count: packets lost, chunks split, bytes delayed, cuts.
  public var hits = 0
  /// How many bytes were affected.
  public var bytes = 0

  /// Nothing yet.
  public init() {}

  /// Adds the effects of a fault in two places.
  public static func += (left: inout FaultCount, right: FaultCount) {
    left.hits += right.hits
    left.bytes += right.bytes
  }
}

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

  /// The number of bytes in the queue.
  var count: Int { tank.count }

  var isEmpty: Bool { entries.isEmpty }

  /// When the first chunk may be passed on; nil if there is none.
  var nextDue: Instant? { entries.first?.due }

  /// When the last chunk may be passed on; nil if there is none.
  var lastDue: Instant? { entries.last?.due }

  /// Adds a chunk that can be passed on from `due` on.
  mutating func append(_ bytes: RawSpan, due: Instant = .origin) {
    guard bytes.byteCount > 0 else { return }
    tank.append(bytes)
    entries.append(Entry(count: bytes.byteCount, due: due))
  }

  /// Calls `body` with each chunk that is due at `now`. `body` returns how many bytes of the chunk it accepted; if that
  /// is not the whole chunk, the rest stays in front and no more chunks are offered. `body` must not use this queue.
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

  /// Passes on every chunk that is due at `now`.
  mutating func pass(to step: inout FaultStep, until now: Instant = .distantFuture) {
    drain(until: now) { bytes in
      step.pass(bytes)
      return bytes.byteCount
    }
  }

  mutating func removeAll() {
    tank.removeAll()
    entries.removeAll()
  }
}
