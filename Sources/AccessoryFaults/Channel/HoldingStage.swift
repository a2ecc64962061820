import AccessoryCore
import AccessoryFormats

/// A stage that holds chunks until their time has come.
///
/// It accepts more only after half of its capacity was passed on, so that a sender that waits for room gets a useful
/// amount at once.
protocol HoldingStage: FaultStage {
  var queue: ChunkQueue { get set }
  var capacity: Int { get }
}

extension HoldingStage {
  var held: Int { queue.count }
  var room: Int { queue.count * 2 <= capacity ? capacity - queue.count : 0 }
  var deadline: Instant? { queue.nextDue }

  mutating func handleTimeout(_ step: inout FaultStep) { passDue(until: step.now, &step) }

  mutating func passDue(until now: Instant, _ step: inout FaultStep) {
    queue.drain(until: now) { bytes in
      step.pass(bytes)
      return bytes.byteCount
    }
  }
}

extension Format<Int> {
  /// How much a fault holds before it holds the sender back.
  static let capacity = integer(1...16_777_216)
}
