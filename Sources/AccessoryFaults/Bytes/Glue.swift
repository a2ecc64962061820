import AccessoryCore
import AccessoryFormats

extension Fault {
  /// Chunks that were sent separately arrive as one.
  public struct Glue: FaultKind {
    /// Passes once so many bytes have gathered.
    public var size = 4_096
    /// Passes after so long at the latest.
    public var wait = Duration.milliseconds(20)

    /// The defaults.
    public init() {}

    static let format = Record("glue", "joins chunks into large ones", Glue()) {
      Field("size", \.size, .integer(1...65_536), "pass on after collecting N bytes")
      Field("wait", \.wait, .duration(.microseconds(1) ... .seconds(60)), "pass on after TIME even with fewer bytes")
    }.example("glue,size=8192")

    func makeStage(_ unit: FaultUnit) -> any FaultStage { GlueStage(size: size, wait: wait) }
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
