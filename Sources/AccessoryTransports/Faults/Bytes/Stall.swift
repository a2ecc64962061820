import AccessoryCore

extension FaultDefinition {
  /// Nothing passes for a while, and nothing is lost: a busy device, or a radio out of range for a moment.
  public static let stall = FaultDefinition(
    "stall", "passes nothing while it lasts; what was held passes afterwards", [.capacity]
  ) { arguments, _ in
    StallStage(capacity: arguments.count("capacity"))
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
    step.tell("nothing passes any more")
  }

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    queue.append(bytes)
    return .changed
  }

  mutating func end(_ step: inout FaultStep) {
    step.tell("bytes pass again, \(queue.count) of them held till now")
    queue.drain { bytes in
      step.pass(bytes)
      return bytes.byteCount
    }
  }
}
