import AccessoryCore
import AccessoryFormats

/// One fault in one direction, as a pure machine: chunks and times go in; bytes to pass on, with their times, come out.
///
/// A stage has no timer and no channel. Its lane gives it a chunk when all its earlier output was accepted, calls it at
/// its deadline, and tells it when its window begins and ends.
///
/// Invariants: a stage accepts every chunk as a whole; it holds at most its capacity plus one chunk, and `room` is
/// how much it accepts; it passes bytes on in the order in which they arrive at the other end.
protocol FaultStage {
  /// The number of held bytes that it will still pass on. The end of the stream waits for them.
  var held: Int { get }

  /// The most bytes it accepts at once now; 0 makes the sender wait.
  var room: Int { get }

  /// When ``handleTimeout(_:)`` wants to be called.
  var deadline: Instant? { get }

  /// The window opens: the channel started, or the time of `after` came.
  mutating func begin(_ step: inout FaultStep)

  /// Handles a chunk of bytes.
  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage

  /// The time of ``deadline`` has come.
  mutating func handleTimeout(_ step: inout FaultStep)

  /// The window closes. Held bytes may be passed on at their own pace; once none are held, it gets no more chunks.
  mutating func end(_ step: inout FaultStep)

  /// The stream ends after the last chunk: bytes that only waited for more bytes are passed on.
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

/// The result for a chunk.
enum FaultPassage {
  /// It is passed on unchanged: nothing was copied, and nothing more is held.
  case whole
  /// The stage has passed on everything that it wants to pass on now.
  case changed
}

/// What a stage can use during one call: the time, its random numbers, and the place for its results.
struct FaultStep {
  /// The most bytes that a stage is given at once, so that its output has a limit.
  static let largestChunk = 256 * 1024

  var now = Instant.origin
  var random: SeededRandom
  /// Bytes that were passed on and not accepted yet.
  var output = ChunkQueue()
  /// The effects of the fault so far.
  private(set) var count = FaultCount()
  /// Events that users should see.
  private(set) var news: [String] = []
  /// Why the channel is to be cut; nil while it is not.
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

  /// Reports an event that users should see.
  mutating func tell(_ text: String) {
    news.append(text)
  }

  /// Cuts the channel.
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

  /// Adds the effects of a fault in two places.
  public static func += (left: inout FaultCount, right: FaultCount) {
    left.hits += right.hits
    left.bytes += right.bytes
  }
}
