import AccessoryCore
import AccessoryFormats

extension Fault {
  /// A reader that reads a little now and then, so that everything before it fills up.
  public struct SlowReader: FaultKind {
    /// How many bytes are read at a time.
    public var bytes = 512
    /// How long it pauses in between.
    public var every = Duration.milliseconds(20)

    /// The defaults.
    public init() {}

    static let directions = [Directions.in, .out, .both]

    static let format = Record("slow-reader", "reads a few bytes at a time, with pauses", SlowReader()) {
      Field("bytes", \.bytes, .integer(1...1_048_576), "bytes per read")
      Field("every", \.every, .duration(.microseconds(1) ... .seconds(3600)), "pause between reads")
    }.example("slow-reader,bytes=100,every=50ms")

    func makeStage(_ unit: FaultUnit) -> any FaultStage { SlowReaderStage(bytes: bytes, every: every) }
  }
}

struct SlowReaderStage: FaultStage {
  let bytes: Int
  let every: Duration
  private var queue = ChunkQueue()
  private var nextRead = Instant.origin

  init(bytes: Int, every: Duration) {
    self.bytes = bytes
    self.every = every
  }

  var held: Int { queue.count }
  /// The bytes of one read: everything else waits where it is.
  var room: Int { bytes - queue.count }
  var deadline: Instant? { queue.isEmpty ? nil : nextRead }

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    queue.append(bytes)
    nextRead = max(nextRead, step.now)
    step.hit(bytes: bytes.byteCount)
    return .changed
  }

  mutating func handleTimeout(_ step: inout FaultStep) {
    queue.drain { bytes in
      step.pass(bytes)
      return bytes.byteCount
    }
    nextRead = step.now + every
  }
}
