import AccessoryFormats

extension Fault {
  /// A delay: every byte arrives later, and none overtakes another.
  public struct Latency: FaultKind {
    /// How much later.
    public var delay: Duration
    /// Up to how much later still, by the seed.
    public var jitter: Duration
    /// How many bytes are held before the sender is held back.
    public var capacity = 65_536

    /// A long way.
    public init(delay: Duration = .milliseconds(50), jitter: Duration = .zero) {
      (self.delay, self.jitter) = (delay, jitter)
    }

    static let format = Record("latency", "delays bytes, in order", Latency()) {
      Field("delay", \.delay, .duration(.zero ... .seconds(3600)), "delay of each byte", isRequired: true)
      Field("jitter", \.jitter, .duration(.zero ... .seconds(3600)), "maximum additional random delay")
      Field("capacity", \.capacity, .capacity, "bytes queued before the sender must wait")
    }.example("latency,delay=20ms,jitter=10ms")

    func makeStage(_ unit: FaultUnit) -> any FaultStage {
      LatencyStage(delay: delay, jitter: jitter, capacity: capacity)
    }
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
