/// One thing that is measured: what it is, what it stands beside, and what is asked of it.
struct Figure {
  /// What can be asked of a figure.
  enum Target {
    /// Ours divided by the floor, median of the pairs.
    case ratioAtLeast(Double)
    case ratioAtMost(Double)
    /// Ours by itself, where no floor can be written that would do the same work.
    case valueAtLeast(Double)
    case valueAtMost(Double)
    /// Ours by itself, no farther from a number than so much of it.
    case valueNear(Double, within: Double)
    /// Measured for the record.
    case none
  }

  /// What it is called on the command line; figures of one kind share what is before the first dot.
  let name: String
  /// What is measured, for people.
  let summary: String
  /// What the numbers count.
  let unit: String
  /// What the floor does, for people.
  let floor: String
  let target: Target
  /// What measures it, and where.
  var runner = "Scripts/bench"
  /// Takes the measurements.
  let measure: (MeasuringPlan) throws -> Measurement

  /// The command that measures it again.
  var command: String { "\(runner) \(name)" }

  /// Whether a word of the command line means this figure: its name, or the first part of it.
  func isMeant(by word: String) -> Bool {
    name == word || name.hasPrefix("\(word).")
  }
}

extension Figure.Target {
  /// Whether it is met; nil where nothing is asked.
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

  /// "ratio ≥ 0.7".
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
