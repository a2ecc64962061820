/// One figure: what is measured, its baseline, and its target.
struct Figure {
  /// The target of a figure.
  enum Target {
    /// easim's result divided by the baseline (the floor), as the median of the pairs.
    case ratioAtLeast(Double)
    case ratioAtMost(Double)
    /// easim's result alone, if no baseline could do the same work.
    case valueAtLeast(Double)
    case valueAtMost(Double)
    /// easim's result alone, within this fraction of a number.
    case valueNear(Double, within: Double)
    /// No target.
    case none
  }

  /// The name on the command line. Figures of one kind share the part before the dot.
  let name: String
  /// What is measured.
  let summary: String
  /// The unit of the results.
  let unit: String
  /// What the baseline does, in words.
  let floor: String
  let target: Target
  /// The script that measures the figure.
  var runner = "Scripts/bench"
  /// Takes the measurements.
  let measure: (MeasuringPlan) throws -> Measurement

  /// The command that measures the figure again.
  var command: String { "\(runner) \(name)" }

  /// Whether a command-line word refers to this figure: it is the figure's name or the first part of it.
  func isMeant(by word: String) -> Bool {
    name == word || name.hasPrefix("\(word).")
  }
}

extension Figure.Target {
  /// Whether the target is met; nil if there is no target.
  func isMet(by measurement: Measurement) -> Bool? {
    switch self {
    case .ratioAtLeast(let limit): measurement.ratio.map { $0.median >= limit } ?? false
    case .ratioAtMost(let limit): measurement.ratio.map { $0.median <= limit } ?? false
    case .valueAtLeast(let limit): measurement.ours.median >= limit
    case .valueAtMost(let limit): measurement.ours.median <= limit
    case .valueNear(let value, let part): (measurement.ours.median - value).magnitude <= value * part
    case .none: nil
    }
  }

  /// The target as text, for example "ratio ≥ 0.7".
  func text(unit: String) -> String? {
    switch self {
    case .ratioAtLeast(let limit): "ratio ≥ \(limit)"
    case .ratioAtMost(let limit): "ratio ≤ \(limit)"
    case .valueAtLeast(let limit): "≥ \(Number.text(limit)) \(unit)"
    case .valueAtMost(let limit): "≤ \(Number.text(limit)) \(unit)"
    case .valueNear(let value, let part):
      "\(Number.text(value)) \(unit) within \(Number.text(part * 100)) %"
    case .none: nil
    }
  }
}
