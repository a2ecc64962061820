import AccessoryFormats

extension Fault {
  /// Single writes above about 2 KB become many times slower, smaller ones stay fast; reported from the field (W10,
  /// large writes are slow).
  public struct Collapse: FaultKind {
    /// The largest write that is still quick, in bytes.
    public var above = 2_048
    /// How many bytes of a larger write pass in a second.
    public var rate = 2_000
    /// How many bytes are held before the sender is held back.
    public var capacity = 65_536

    /// The defaults.
    public init() {}

    static let directions = [Directions.out, .in, .both]

    static let format = Record("collapse", "slows down writes larger than a limit", Collapse()) {
      Field("above", \.above, .integer(1...65_536), "size in bytes above which writes are slow")
      Field("rate", \.rate, .integer(1...1_000_000_000), "rate of larger writes, in bytes per second")
      Field("capacity", \.capacity, .capacity, "bytes queued before the sender must wait")
    }.example("collapse,above=512,rate=1000")

    func makeStage(_ unit: FaultUnit) -> any FaultStage {
      CollapseStage(above: above, bytesPerSecond: rate, capacity: capacity)
    }
  }
}

struct CollapseStage: HoldingStage {
  let above: Int
  let bytesPerSecond: Int
  let capacity: Int
  var queue = ChunkQueue()

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    let start = max(step.now, queue.lastDue ?? step.now)
    if bytes.byteCount > above {
      queue.append(bytes, due: start + .nanoseconds(bytes.byteCount * 1_000_000_000 / bytesPerSecond))
      step.hit(bytes: bytes.byteCount)
      return .changed
    }
    if queue.isEmpty { return .whole }
    queue.append(bytes, due: start)
    return .changed
  }
}
