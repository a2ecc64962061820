import AccessoryFormats

extension Fault {
  /// One direction works, and the other accepts everything and delivers nothing: only a timeout can detect this.
  public struct HalfDead: FaultKind {
    /// The only one.
    public init() {}

    static let directions = [Directions.out, .in]

    static let format = Record("half-dead", "loses everything sent in one direction", HalfDead()) {}.example(
      "half-dead,in,after=2s")

    func makeStage(_ unit: FaultUnit) -> any FaultStage { HalfDeadStage() }
  }
}

struct HalfDeadStage: FaultStage {
  mutating func begin(_ step: inout FaultStep) {
    step.tell("everything is lost from now on")
  }

  mutating func take(_ bytes: RawSpan, _ step: inout FaultStep) -> FaultPassage {
    step.hit(bytes: bytes.byteCount)
    return .changed
  }

  mutating func end(_ step: inout FaultStep) {
    step.tell("bytes pass again")
  }
}
