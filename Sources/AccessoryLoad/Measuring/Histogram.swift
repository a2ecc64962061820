/// Counts how many times each value, such as a latency, occurred, to a precision of three significant digits.
///
/// The histogram is modeled on HdrHistogram. Values below 2,048 are counted individually. From 2,048 on, every doubling
/// of the value is divided into 1,024 steps, so that a step is never wider than a thousandth of the values in it.
/// However long a run lasts, there are at most 55 x 1,024 counts. Adding two histograms adds their counts, so a merged
/// report contains exactly what a single machine would have measured.
///
/// ```swift
/// var latencies = Histogram()
/// latencies.record(1_250_000)
/// latencies.value(atPercentile: 99)   // 1_250_303: the highest value that counts as the same
/// ```
///
/// Invariants: `total` is the sum of all counts; `minimum` and `maximum` are exact; memory grows only with the largest
/// value, and never exceeds that of 55 x 1,024 counts.
public struct Histogram: Equatable, Sendable {
  /// The number of steps in a doubling, as a power of two.
  private static let halfBits = 10
  private static let half = 1 << halfBits
  /// Values below this are counted individually.
  static let exactLimit = half * 2

  private(set) var counts: [Int] = []
  /// The number of recorded values.
  public private(set) var total = 0
  /// The smallest recorded value; nil if there is none.
  public private(set) var minimum: Int?
  /// The largest recorded value; nil if there is none.
  public private(set) var maximum: Int?

  /// Creates an empty histogram.
  public init() {}

  /// Records a value `times` times.
  public mutating func record(_ value: Int, times: Int = 1) {
    precondition(value >= 0, "a histogram counts only values from 0")
    precondition(times >= 0, "a count cannot be negative")
    if times == 0 { return }
    add(times, at: Self.index(of: value))
    minimum = min(minimum ?? value, value)
    maximum = max(maximum ?? value, value)
  }

  /// Records a value and corrects for coordinated omission. A program that should measure every `interval`, but is held
  /// up for longer, misses measurements; they would have been `value - interval`, `value - 2 * interval` and so on.
  public mutating func record(_ value: Int, expectedInterval interval: Int) {
    record(value)
    guard interval > 0 else { return }
    var missing = value - interval
    // The loop proceeds by steps of the histogram instead of single values, so that a long delay takes no more time
    // than a short one.
    while missing >= interval {
      let low = max(Self.lowest(at: Self.index(of: missing)), interval)
      let times = (missing - low) / interval + 1
      record(missing, times: times)
      let last = missing - (times - 1) * interval
      minimum = min(minimum ?? last, last)
      missing = last - interval
    }
  }

  /// Adds another histogram's counts. The sum of both histograms' totals must be below 2 to the power of 63.
  public mutating func merge(_ other: Histogram) {
    for (index, count) in other.counts.enumerated() where count > 0 { add(count, at: index) }
    if let least = other.minimum { minimum = min(minimum ?? least, least) }
    if let most = other.maximum { maximum = max(maximum ?? most, most) }
  }

  private mutating func add(_ count: Int, at index: Int) {
    if index >= counts.count { counts += [Int](repeating: 0, count: index + 1 - counts.count) }
    counts[index] += count
    total += count
  }

  // MARK: Reading

  /// Returns the value that `percentile` per cent of all values do not exceed. The result is rounded up to the highest
  /// value of its step, but never above ``maximum``; it is 0 if nothing was recorded.
  public func value(atPercentile percentile: Double) -> Int {
    guard let minimum, let maximum else { return 0 }
    let share = min(max(percentile, 0), 100) / 100
    let wanted = max(1, Int(exactly: (share * Double(total)).rounded(.up)) ?? total)
    var seen = 0
    for (index, count) in counts.enumerated() {
      seen += count
      if seen >= wanted { return max(minimum, min(Self.highest(at: index), maximum)) }
    }
    return maximum
  }

  /// The mean, taking each value as the middle of its step; 0 if nothing was recorded.
  public var mean: Double {
    guard total > 0 else { return 0 }
    return steps.reduce(0) { $0 + Double($1.middle) * Double($1.count) } / Double(total)
  }

  /// The standard deviation, taking each value as the middle of its step.
  public var standardDeviation: Double {
    guard total > 0 else { return 0 }
    let mean = mean
    let sum = steps.reduce(0.0) { sum, step in
      let distance = Double(step.middle) - mean
      return sum + distance * distance * Double(step.count)
    }
    return (sum / Double(total)).squareRoot()
  }

  /// A range of values that are counted together.
  public struct Step: Equatable, Sendable {
    /// The lowest value of the step.
    public let lowest: Int
    /// The highest value of the step.
    public let highest: Int
    /// How many recorded values the step contains.
    public let count: Int

    var middle: Int { lowest + (highest - lowest + 1) / 2 }
  }

  /// The steps in which values were recorded, in ascending order.
  public var steps: [Step] {
    counts.enumerated().filter { $0.element > 0 }.map { index, count in
      Step(lowest: Self.lowest(at: index), highest: Self.highest(at: index), count: count)
    }
  }

  // MARK: Steps

  static func index(of value: Int) -> Int {
    let doubling = max(0, Int.bitWidth - 1 - value.leadingZeroBitCount - halfBits)
    return doubling << halfBits + value >> doubling
  }

  static func lowest(at index: Int) -> Int {
    if index < exactLimit { return index }
    let doubling = index >> halfBits - 1
    return (index & (half - 1) + half) << doubling
  }

  static func highest(at index: Int) -> Int {
    let width = index < exactLimit ? 1 : 1 << (index >> halfBits - 1)
    return lowest(at: index) + (width - 1)
  }

  /// The number of doublings in use, which HdrHistogram calls buckets.
  var doublings: Int { max(1, counts.count >> Self.halfBits - 1) }

  /// Creates a histogram from these ``steps``; nil if they are invalid, for example if a count is below 1 or a value is
  /// below 0.
  init?(steps: [(value: Int, count: Int)], minimum: Int?, maximum: Int?) {
    for step in steps {
      guard step.value >= 0, step.count > 0, step.count < Int.max / 2 - total else { return nil }
      add(step.count, at: Self.index(of: step.value))
    }
    guard let low = steps.map(\.value).min(), let high = steps.map(\.value).max() else {
      if minimum != nil || maximum != nil { return nil }
      return
    }
    guard let minimum, let maximum, Self.index(of: max(0, minimum)) == Self.index(of: low),
      Self.index(of: max(0, maximum)) == Self.index(of: high)
    else { return nil }
    self.minimum = minimum
    self.maximum = maximum
  }
}

extension Histogram: CustomStringConvertible {
  /// Text such as "11 values from 2000000 to 2000000".
  public var description: String {
    guard let minimum, let maximum else { return "no values" }
    return "\(total) values from \(minimum) to \(maximum)"
  }
}
