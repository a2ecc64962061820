import AccessoryCore

/// One fault in one direction, as a pure machine: chunks and times go in, and what is passed on when comes out.
///
/// A stage owns no timer and knows no channel. The lane that it is part of hands it a chunk whenever everything it
/// passed before has gone on, calls it when its deadline comes, and tells it where its window begins and ends.
///
/// Invariants: a stage takes every chunk it is handed whole; it holds at most its capacity beyond one chunk, and says
/// how much it has `room` for; what it passes, it passes in the order in which it wants it to arrive.
protocol FaultStage {
  /// Bytes taken that it will still pass on. The end of the stream waits for them.
  var held: Int { get }

  /// The most bytes it takes at once now; 0 holds the sender back.
  var room: Int { get }

  /// When ``handleTimeout(_:)`` wants to be called.
  var deadline: Instant? { get }

  /// The window opens: the channel started, or the time of `after` came.
  mutating func begin(_ step: inout FaultStep)

  /// A chunk of bytes comes by.
  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage

  /// The time of ``deadline`` has come.
  mutating func handleTimeout(_ step: inout FaultStep)

  /// The window closes. What is held may go on at its own pace; no chunk comes once nothing is held.
  mutating func end(_ step: inout FaultStep)

  /// The stream ends behind the last chunk: whatever only waited for more bytes goes on.
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

/// What became of a chunk.
enum FaultPassage {
  /// It goes on as it is: nothing was copied, nothing is held that was not held before.
  case whole
  /// The stage has passed on what it wants to pass on now.
  case changed
}

/// What a stage works with during one call: the time, its chance, and where its results go.
struct FaultStep {
  /// A stage is never handed more than this at once, so that whatever it makes of it stays bounded.
  static let largestChunk = 256 * 1024

  var now = Instant.origin
  var random: SeededRandom
  /// What was passed on and not yet taken by what comes next.
  var output = ChunkQueue()
  /// What the fault has done so far.
  private(set) var count = FaultCount()
  /// What people should hear of.
  private(set) var news: [String] = []
  /// Why the channel is to be cut, once it is.
  private(set) var cut: String?

  init(random: SeededRandom) {
    self.random = random
  }

  /// Passes bytes on.
  mutating func pass(_ bytes: RawSpan) {
    output.append(bytes)
  }

  /// The fault did what it is for, to so many bytes.
  mutating func hit(bytes: Int) {
    count.hits += 1
    count.bytes += bytes
  }

  /// Something happened that people should hear of.
  mutating func tell(_ text: String) {
    news.append(text)
  }

  /// The channel is over.
  mutating func cutChannel(_ why: String) {
    cut = why
    tell(why)
  }

  mutating func takeNews() -> [String] {
    defer { news.removeAll() }
    return news
  }
}

/// How often a fault took effect.
public struct FaultCount: Equatable, Sendable {
  /// How often: packets lost, chunks split, bytes' delays, cuts.
  public var hits = 0
  /// How many bytes were concerned.
  public var bytes = 0

  /// Nothing yet.
  public init() {}

  /// Adds up what a fault did in two places.
  public static func += (left: inout FaultCount, right: FaultCount) {
    left.hits += right.hits
    left.bytes += right.bytes
  }
}
