import AccessoryCore

extension FaultDefinition {
  /// Splits chunks at random. This breaks a reader that takes each reception for a message.
  public static let split = FaultDefinition(
    "split", "cuts chunks into pieces of random size",
    [
      .count("size", 1...65_536, 7, "the largest piece, in bytes"),
      .duration("gap", .zero ... .seconds(60), .zero, "how much time lies between two pieces"),
      .capacity,
    ]
  ) { arguments, _ in
    SplitStage(
      size: arguments.count("size"), gap: arguments.duration("gap"), capacity: arguments.count("capacity"))
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
