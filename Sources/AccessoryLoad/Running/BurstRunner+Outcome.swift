extension BurstRunner.Outcome: CustomStringConvertible {
  /// A description of the outcome, without a period.
  public var description: String {
    switch self {
    case .done: "done"
    case .failed: "bytes came back that are not the expected reply"
    case .timedOut: "a burst exceeded its time limit"
    case .gone: "an accessory went away"
    case .notReached(let text): text
    case .stopped(let why): "stopped by \(why)"
    }
  }
}
