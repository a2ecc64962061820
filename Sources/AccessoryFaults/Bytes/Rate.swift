import AccessoryCore
import AccessoryFormats

extension Fault {
  /// A limited rate in bytes per second. External Accessory over Bluetooth gets about 7,500, far less than the radio
  /// can carry.
  public struct Rate: FaultKind {
    /// How many bytes a second.
    public var bytes: Int
    /// How many bytes are held before the sender is held back.
    public var capacity: Int

    /// A narrow way.
    public init(bytes: Int = 7_500, capacity: Int = 4_096) { (self.bytes, self.capacity) = (bytes, capacity) }

    static let format = Record("rate", "limits the throughput", Rate()) {
      Field("bytes", \.bytes, .integer(1...1_000_000_000), "bytes per second")
      Field("capacity", \.capacity, .capacity, "bytes queued before the sender must wait")
    }.example("rate,bytes=7500")

    func makeStage(_ unit: FaultUnit) -> any FaultStage { RateStage(bytesPerSecond: bytes, capacity: capacity) }
  }
}

/// A chunk passes in pieces of about ten milliseconds each, every piece when its last byte has passed. The time is
/// computed from the rate and not from timers, so late timers do not make the line slower.
struct RateStage: HoldingStage {
  let bytesPerSecond: Int
  let capacity: Int
  var queue = ChunkQueue()
  private var isFree = Instant.origin

  init(bytesPerSecond: Int, capacity: Int) {
    self.bytesPerSecond = bytesPerSecond
    self.capacity = capacity
  }

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    let piece = max(1, bytesPerSecond / 100)
    var offset = 0
    isFree = max(isFree, step.now)
    while offset < bytes.byteCount {
      let count = min(piece, bytes.byteCount - offset)
      isFree = isFree + .nanoseconds(count * 1_000_000_000 / bytesPerSecond)
      queue.append(bytes.extracting(offset..<offset + count), due: isFree)
      offset += count
    }
    step.hit(bytes: bytes.byteCount)
    return .changed
  }
}
