import AccessoryCore
import AccessoryFormats

extension Fault {
  /// Splits chunks at random. This breaks a reader that takes each reception for a message.
  public struct Split: FaultKind {
    /// The largest piece, in bytes.
    public var size = 7
    /// How much time lies between two pieces.
    public var gap = Duration.zero
    /// How many bytes are held before the sender is held back.
    public var capacity = 65_536

    /// The defaults.
    public init() {}

    static let format = Record("split", "cuts chunks into pieces of random size", Split()) {
      Field("size", \.size, .integer(1...65_536), "size of the largest piece, in bytes")
      Field("gap", \.gap, .duration(.zero ... .seconds(60)), "time between pieces")
      Field("capacity", \.capacity, .capacity, "bytes queued before the sender must wait")
    }.example("split,size=20")

    func makeStage(_ unit: FaultUnit) -> any FaultStage { SplitStage(size: size, gap: gap, capacity: capacity) }
  }
}

struct SplitStage: HoldingStage {
  let size: Int
  let gap: Duration
  let capacity: Int
  var queue = ChunkQueue()
  private var next = Instant.origin

  init(size: Int, gap: Duration, capacity: Int) {
    self.size = size
    self.gap = gap
    self.capacity = capacity
  }

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    if bytes.byteCount == 1, gap == .zero { return .whole }
    var offset = 0
    while offset < bytes.byteCount {
      let count = min(Int.random(in: 1...size, using: &step.random), bytes.byteCount - offset)
      let piece = bytes.extracting(offset..<offset + count)
      next = max(next, step.now)
      if next <= step.now, queue.isEmpty { step.pass(piece) } else { queue.append(piece, due: next) }
      next = next + gap
      offset += count
    }
    step.hit(bytes: bytes.byteCount)
    return .changed
  }
}
