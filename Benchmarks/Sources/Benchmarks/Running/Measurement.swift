/// How many measurements to make, and how long each should take.
struct MeasuringPlan {
  /// The number of pairs, each of which has one measurement of easim and one of the baseline. There are at least seven,
  /// so that one disturbed pair does not change the median.
  var pairs = 11
  /// The approximate duration of one measurement.
  var seconds = 0.15
  /// One half of a pair.
  enum Side: String {
    case ours
    case floor
  }
  /// The half that is measured twice instead of measuring both halves; nil for both. A profile then shows only that
  /// half, and the ratio must be 1.
  var side: Side?
}

/// The results of a figure. Each pair has one result for easim, one for the baseline, and their ratio.
struct Measurement {
  /// The median and the range of a series.
  struct Series {
    let median: Double
    let lowest: Double
    let highest: Double

    init(_ values: [Double]) {
      precondition(!values.isEmpty, "a series has at least one value")
      let sorted = values.sorted()
      let middle = sorted.count / 2
      median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
      lowest = sorted[0]
      highest = sorted[sorted.count - 1]
    }
  }

  let ours: Series
  let floor: Series?
  let ratio: Series?
  let pairs: Int
  /// The results of a second, barer baseline, which does less than is required, and the ratio to it.
  var bare: (floor: Series, ratio: Series)?
  /// Additional results, such as the ratio of processor time.
  var notes: [(name: String, series: Series)] = []

  /// Creates a measurement without a baseline.
  init(_ values: [Double]) {
    ours = Series(values)
    floor = nil
    ratio = nil
    pairs = values.count
  }

  /// Creates a measurement from pairs. Each ratio comes from one pair, whose two halves ran while the machine was in
  /// the same state.
  init(_ values: [(ours: Double, floor: Double)]) {
    ours = Series(values.map(\.ours))
    floor = Series(values.map(\.floor))
    ratio = Series(values.map { $0.ours / $0.floor })
    pairs = values.count
  }

  /// Creates a measurement with a second baseline.
  init(_ values: [(ours: Double, floor: Double, bare: Double)]) {
    self.init(values.map { ($0.ours, $0.floor) })
    bare = (Series(values.map(\.bare)), Series(values.map { $0.ours / $0.bare }))
  }
}

extension MeasuringPlan {
  /// Measures both halves alternately; each half comes first equally often. If the machine becomes slower or faster,
  /// both halves are affected.
  func pairs<Value>(_ ours: () throws -> Value, _ floor: () throws -> Value) throws -> [(ours: Value, floor: Value)] {
    try turns { which in try (which == 0 ? side != .floor : side == .ours) ? ours() : floor() }
      .map { ($0[0], $0[1]) }
  }

  /// Measures with two baselines, in the same way.
  func triples<Value>(
    _ ours: () throws -> Value, _ floor: () throws -> Value, _ bare: () throws -> Value
  ) throws -> [(ours: Value, floor: Value, bare: Value)] {
    try turns(of: 3) { which in
      switch side {
      case .ours: try ours()
      case .floor: try floor()
      case nil: try which == 0 ? ours() : which == 1 ? floor() : bare()
      }
    }
    .map { ($0[0], $0[1], $0[2]) }
  }

  private func turns<Value>(of parts: Int = 2, _ measure: (Int) throws -> Value) throws -> [[Value]] {
    try (0..<pairs).map { pair in
      let values = try (0..<parts).map { (($0 + pair) % parts, try measure(($0 + pair) % parts)) }
      return values.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }
}
