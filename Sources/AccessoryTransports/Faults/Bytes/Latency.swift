import AccessoryCore

extension FaultDefinition {
  /// A delay: every byte arrives later, and none overtakes another.
  public static let latency = FaultDefinition(
    "latency", "bytes arrive later, in order",
    [
      .duration("delay", .zero ... .seconds(3600), .milliseconds(50), "how much later"),
      .duration("jitter", .zero ... .seconds(3600), .zero, "up to how much later still, by the seed"),
      .capacity,
    ]
  ) { arguments, _ in
    LatencyStage(
      delay: arguments.duration("delay"), jitter: arguments.duration("jitter"), capacity: arguments.count("capacity"))
  }
}

struct LatencyStage: HoldingStage {
  let delay: Duration
  let jitter: Duration
  let capacity: Int
  var queue = ChunkQueue()

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    var due = step.now + delay
    if jitter > .zero { due = due + .nanoseconds(Int64.random(in: 0...jitter.wholeNanoseconds, using: &step.random)) }
    if let last = queue.lastDue { due = max(due, last) }
    if due <= step.now, queue.isEmpty { return .whole }
    queue.append(bytes, due: due)
    step.hit(bytes: bytes.byteCount)
    return .changed
  }
}
