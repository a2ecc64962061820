import AccessoryCore

extension FaultDefinition {
  /// A reader that reads a little now and then, so that everything before it fills up.
  public static let slowReader = FaultDefinition(
    "slow-reader", "reads so many bytes, pauses, and reads on", directions: ["in", "out", "both"],
    [
      .count("bytes", 1...1_048_576, 512, "how many bytes are read at a time"),
      .duration("every", .microseconds(1) ... .seconds(3600), .milliseconds(20), "how long it pauses in between"),
    ]
  ) { arguments, _ in
    SlowReaderStage(bytes: arguments.count("bytes"), every: arguments.duration("every"))
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
