/// One figure: what is measured, its baseline, and its target.
struct Figure {
  /// The target of a figure.
  enum Target {
    /// The target applies to easim's result divided by the baseline's (the floor's), as the median of all pairs.
    case ratioAtLeast(Double)
    case ratioAtMost(Double)
    /// The target applies to easim's result alone, because no baseline could do the same work.
    case valueAtLeast(Double)
    case valueAtMost(Double)
    /// The target applies to easim's result alone, which must be within this fraction of a number.
    case valueNear(Double, within: Double)
    /// The figure has no target.
    case none
  }

  /// The name on the command line. Figures of one kind share the part before the dot.
  let name: String
  /// A description of what is measured.
  let summary: String
  /// The unit of the results.
  let unit: String
  /// A description of what the baseline does.
  let floor: String
  /// What the second baseline does, which does less than is required; nil if there is none.
  var bareFloor: String?
  let target: Target
  /// The script that measures the figure.
  var runner = "Scripts/bench"
  /// Takes the figure's measurements.
  let measure: (MeasuringPlan) throws -> Measurement

  /// The command that measures the figure again.
  var command: String { "\(runner) \(name)" }

  /// Returns true if a command-line word refers to this figure: it is the figure's name or the name's first part.
  func isMeant(by word: String) -> Bool {
    name == word || name.hasPrefix("\(word).")
  }
}

extension Figure.Target {
  /// Returns whether the target is met; nil if there is no target.
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
