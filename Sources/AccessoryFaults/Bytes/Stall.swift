import AccessoryFormats

extension Fault {
  /// Nothing passes for a while, and nothing is lost: a busy device, or a radio out of range for a moment.
  public struct Stall: FaultKind {
    /// How many bytes are held before the sender is held back.
    public var capacity = 65_536

    /// The defaults.
    public init() {}

    static let format = Record(
      "stall", "passes nothing while it lasts, and everything afterwards", Stall()
    ) {
      Field("capacity", \.capacity, .capacity, "bytes queued before the sender must wait")
    }.example("stall,after=1s,for=3s")

    func makeStage(_ unit: FaultUnit) -> any FaultStage { StallStage(capacity: capacity) }
  }
}

struct StallStage: FaultStage {
  let capacity: Int
  private var queue = ChunkQueue()

  init(capacity: Int) {
    self.capacity = capacity
  }

  var held: Int { queue.count }
  var room: Int { capacity - queue.count }

  mutating func begin(_ step: inout FaultStep) {
    step.hit(bytes: 0)
    step.tell("nothing passes from now on")
  }

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    queue.append(bytes)
    return .changed
  }

  mutating func end(_ step: inout FaultStep) {
    step.tell("bytes pass again, \(queue.count) of them were queued")
    queue.drain { bytes in
      step.pass(bytes)
      return bytes.byteCount
    }
  }
}
