import AccessoryCore
import AccessoryFormats

/// One fault in one direction, as a pure state machine that receives chunks and times and returns the bytes to pass on.
///
/// A stage has no timer and no channel. The lane passes a chunk to a stage only after all of the stage's earlier output
/// has been accepted. The lane also calls the stage when its deadline expires, and when its window opens or closes.
///
/// Invariants: A stage always accepts a chunk as a whole. `room` limits the size of the next chunk. A stage holds at
/// most its capacity plus one chunk. A stage passes on bytes in the order that they should arrive at the other end.
///
/// The properties are `mutating get`, because a slot would otherwise copy its stage to read them. They change only when
/// the slot calls the stage, so the slot reads all of them once after each call.
protocol FaultStage {
  /// ``held``, ``room`` and ``deadline``.
  var state: FaultStageState { mutating get }

  /// The number of held bytes that the stage must pass on before the stream can end.
  var held: Int { mutating get }

  /// The maximum number of bytes that the stage can accept at the moment, or 0 if the sender has to wait.
  var room: Int { mutating get }

  var deadline: Instant? { mutating get }

  /// Opens the window, either when the channel starts or when the time `after` has passed.
  mutating func begin(_ step: inout FaultStep)

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage

  mutating func handleTimeout(_ step: inout FaultStep)

  /// Closes the window. The stage may keep the bytes that it holds and pass them on when they are due. A stage that
  /// holds no bytes gets no more chunks.
  mutating func end(_ step: inout FaultStep)

  /// Ends the stream after the last chunk. The stage passes on any bytes that it was holding only in case more bytes
  /// followed.
  mutating func finish(_ step: inout FaultStep)
}

struct FaultStageState {
  var held: Int
  var room: Int
  var deadline: Instant?
}

extension FaultStage {
  var state: FaultStageState { mutating get { FaultStageState(held: held, room: room, deadline: deadline) } }
  var held: Int { 0 }
  var room: Int { FaultStep.largestChunk }
  var deadline: Instant? { nil }
  mutating func begin(_ step: inout FaultStep) {}
  mutating func handleTimeout(_ step: inout FaultStep) {}
  mutating func end(_ step: inout FaultStep) {}
  mutating func finish(_ step: inout FaultStep) {}
}

enum FaultPassage {
  /// The lane must pass on the chunk unchanged, because the stage neither copied nor kept any of it.
  case whole
  /// The stage's output contains all bytes that the stage does not hold.
  case changed
}

/// The inputs and outputs of one call to a stage: the time, random numbers, and results.
struct FaultStep {
  /// The maximum size of a chunk, which limits the size of the stage's output.
  static let largestChunk = 256 * 1024

  var now = Instant.origin
  var random: SeededRandom
  /// Bytes that have been passed on but not accepted yet.
  var output = ChunkQueue()
  private(set) var count = FaultCount()
  private(set) var news: [String] = []
  var keepsStruck = false
  /// The packets that the fault acted on, in their original form.
  private(set) var struck: [[UInt8]] = []
  /// Why the channel must be cut, or nil if it stays connected.
  private(set) var cut: String?

  mutating func pass(_ bytes: RawSpan) {
    output.append(bytes)
  }

  mutating func hit(bytes: Int) {
    count.hits += 1
    count.bytes += bytes
  }

  mutating func strike(_ packet: RawSpan) {
    if keepsStruck { struck.append(packet.withUnsafeBytes { [UInt8]($0) }) }
  }

  mutating func takeStruck() -> [[UInt8]] {
    defer { struck.removeAll() }
    return struck
  }

  mutating func report(_ text: String) {
    news.append(text)
  }

  mutating func cutChannel(_ why: String) {
    cut = why
    report(why)
  }

  mutating func takeNews() -> [String] {
    defer { news.removeAll() }
    return news
  }
}

/// How many times a fault took effect, and how many bytes it affected.
public struct FaultCount: Equatable, Sendable {
  /// The number of effects, such as lost packets, split chunks, delayed chunks and cuts.
  public var hits = 0
  /// How many bytes the fault affected.
  public var bytes = 0

  /// Creates a count of zero.
  public init() {}

  /// Adds the effects of the same fault on another channel.
  public static func += (left: inout FaultCount, right: FaultCount) {
    left.hits += right.hits
    left.bytes += right.bytes
  }
}

/// Chunks of bytes, in order, each with the time when it is due.
///
/// A queue holds the bytes that a fault holds back or that the next fault has not accepted yet. Chunks are never
/// joined. A chunk is split only when part of it is taken. Buffers are reused, so a queue in a steady state does not
/// allocate memory.
struct ChunkQueue {
  private struct Entry {
    var count: Int
    var due: Instant
  }

  private var tank = ByteQueue()
  private var entries = Queue<Entry>()

  var count: Int { tank.count }

  var isEmpty: Bool { entries.isEmpty }

  var nextDue: Instant? { entries.first?.due }

  var lastDue: Instant? { entries.last?.due }

  mutating func append(_ bytes: RawSpan, due: Instant = .origin) {
    guard bytes.byteCount > 0 else { return }
    tank.append(bytes)
    entries.append(Entry(count: bytes.byteCount, due: due))
  }

  /// Calls `body` with each chunk that is due at `now`. `body` returns how many bytes of the chunk it accepted. If
  /// `body` accepts only part of a chunk, the rest of the chunk stays at the front and the call ends. `body` must not
  /// use this queue.
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
