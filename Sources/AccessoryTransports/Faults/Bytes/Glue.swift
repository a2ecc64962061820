import AccessoryCore

extension FaultDefinition {
  /// Chunks that were sent separately arrive as one.
  public static let glue = FaultDefinition(
    "glue", "joins chunks into large ones",
    [
      .count("size", 1...65_536, 4_096, "passes once so many bytes have gathered"),
      .duration("wait", .microseconds(1) ... .seconds(60), .milliseconds(20), "passes after so long at the latest"),
    ]
  ) { arguments, _ in
    GlueStage(size: arguments.count("size"), wait: arguments.duration("wait"))
  }
}

struct GlueStage: FaultStage {
  let size: Int
  let wait: Duration
  private var gathered: [UInt8] = []
  private var chunks = 0
  private(set) var deadline: Instant?

  init(size: Int, wait: Duration) {
    self.size = size
    self.wait = wait
  }

  var held: Int { gathered.count }

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    if gathered.isEmpty {
      if bytes.byteCount >= size { return .whole }
      deadline = step.now + wait
    }
    bytes.withUnsafeBytes { gathered.append(contentsOf: $0) }
    chunks += 1
    if gathered.count >= size { passAll(&step) }
    return .changed
  }

  mutating func handleTimeout(_ step: inout FaultStep) { passAll(&step) }
  mutating func end(_ step: inout FaultStep) { passAll(&step) }
  mutating func finish(_ step: inout FaultStep) { passAll(&step) }

  private mutating func passAll(_ step: inout FaultStep) {
    if chunks > 1 { step.hit(bytes: gathered.count) }
    step.pass(gathered.span.bytes)
    gathered.removeAll(keepingCapacity: true)
    chunks = 0
    deadline = nil
  }
}
