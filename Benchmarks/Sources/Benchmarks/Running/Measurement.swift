/// How often and how long to measure.
struct MeasuringPlan {
  /// Pairs of one measurement of ours and one of the floor; at least seven, so that one disturbed pair moves nothing.
  var pairs = 11
  /// How long one measurement takes, about.
  var seconds = 0.15
  /// One side of a figure.
  enum Side: String {
    case ours
    case floor
  }
  /// The side that is measured twice instead of both: a profile shows nothing else, and the ratio must come out as 1.
  var side: Side?
}

/// What came out of a figure: one number of ours per pair, one of the floor's beside it, and their ratios.
struct Measurement {
  /// The middle of a series and how far it reaches.
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
  /// What else is worth knowing, such as the ratio of processor time.
  var notes: [(name: String, series: Series)] = []

  /// Measurements with no floor.
  init(_ values: [Double]) {
    ours = Series(values)
    floor = nil
    ratio = nil
    pairs = values.count
  }

  /// Measurements in pairs. Ratios are taken within a pair, where both saw the same machine.
  init(_ values: [(ours: Double, floor: Double)]) {
    ours = Series(values.map(\.ours))
    floor = Series(values.map(\.floor))
    ratio = Series(values.map { $0.ours / $0.floor })
    pairs = values.count
  }
}

extension MeasuringPlan {
  /// Measures both sides in turns, each first as often as the other, so that a machine which gets slower or faster
  /// meanwhile does so for both.
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
