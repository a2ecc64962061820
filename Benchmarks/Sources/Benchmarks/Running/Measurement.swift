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
}

extension MeasuringPlan {
  /// Measures both halves alternately; each half comes first equally often. If the machine becomes slower or faster,
  /// both halves are affected.
  func pairs<Value>(_ ours: () throws -> Value, _ floor: () throws -> Value) throws -> [(ours: Value, floor: Value)] {
    func measureOurs() throws -> Value { try side == .floor ? floor() : ours() }
    func measureFloor() throws -> Value { try side == .ours ? ours() : floor() }
    var values: [(ours: Value, floor: Value)] = []
    for pair in 0..<pairs {
      if pair % 2 == 0 {
        let first = try measureOurs()
        values.append((first, try measureFloor()))
      } else {
        let first = try measureFloor()
        values.append((try measureOurs(), first))
      }
    }
    return values
  }
}
