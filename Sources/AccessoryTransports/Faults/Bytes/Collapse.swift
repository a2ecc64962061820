import AccessoryCore

extension FaultDefinition {
  /// Single writes above about 2 KB become many times slower, smaller ones stay fast; reported from the field (W10).
  public static let collapse = FaultDefinition(
    "collapse", "writes above a size become slow", directions: ["out", "in", "both"],
    [
      .count("above", 1...65_536, 2_048, "the largest write that is still quick, in bytes"),
      .count("rate", 1...1_000_000_000, 2_000, "how many bytes of a larger write pass in a second"),
      .capacity,
    ]
  ) { arguments, _ in
    CollapseStage(
      above: arguments.count("above"), bytesPerSecond: arguments.count("rate"), capacity: arguments.count("capacity"))
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
