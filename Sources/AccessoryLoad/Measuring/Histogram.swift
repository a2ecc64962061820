import AccessoryRuns

/// Counts how many times each value, such as a latency, occurs. The precision is three significant digits.
///
/// The design follows HdrHistogram. Each value below 2,048 has its own count. From 2,048 on, each range between two
/// powers of two has 1,024 steps, so no step is wider than a thousandth of its values. There are at most 55 x 1,024
/// counts, no matter how long a run lasts. Two histograms are merged by adding their counts, so a merged report is the
/// same as a report from a single machine.
///
/// ```swift
/// var latencies = Histogram()
/// latencies.record(1_250_000)
/// latencies.value(atPercentile: 99)   // 1_250_303: the highest value that counts as the same
/// ```
///
/// Invariants: `total` is the sum of all counts; `minimum` and `maximum` are exact; memory use depends only on the
/// largest value and is limited to 55 x 1,024 counts.
public struct Histogram: Equatable, Sendable {
  /// The base-2 logarithm of the number of steps between two powers of two.
  private static let halfBits = 10
  private static let half = 1 << halfBits
  /// Each value below this limit has its own count.
  static let exactLimit = half * 2

  private(set) var counts: [Int] = []
  /// The number of recorded values.
  public private(set) var total = 0
  /// The smallest recorded value, or nil if there is none.
  public private(set) var minimum: Int?
  /// The largest recorded value, or nil if there is none.
  public private(set) var maximum: Int?

  /// Creates an empty histogram.
  public init() {}

  /// Counts a value. `times` is the number of times that the value occurred.
  public mutating func record(_ value: Int, times: Int = 1) {
    precondition(value >= 0, "a histogram counts only values from 0")
    precondition(times >= 0, "a count cannot be negative")
    if times == 0 { return }
    add(times, at: Self.index(of: value))
    minimum = min(minimum ?? value, value)
    maximum = max(maximum ?? value, value)
  }

  /// Adds the counts of another histogram to this one. The sum of the two totals must be less than 2^63.
  public mutating func merge(_ other: Histogram) {
    for index in other.used where other.counts[index] > 0 { add(other.counts[index], at: index) }
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
  /// value of its step, but not above ``maximum``. Returns 0 if nothing was recorded.
  public func value(atPercentile percentile: Double) -> Int {
    guard let minimum, let maximum else { return 0 }
    let share = min(max(percentile, 0), 100) / 100
    let wanted = max(1, Int(exactly: (share * Double(total)).rounded(.up)) ?? total)
    var seen = 0
    for index in used {
      seen += counts[index]
      if seen >= wanted { return max(minimum, min(Self.highest(at: index), maximum)) }
    }
    return maximum
  }

  /// The mean, calculated with each value rounded to the middle of its step, or 0 if nothing was recorded.
  public var mean: Double {
    guard total > 0 else { return 0 }
    return steps.reduce(0) { $0 + Double($1.middle) * Double($1.count) } / Double(total)
  }

  /// The standard deviation, calculated with each value rounded to the middle of its step.
  public var standardDeviation: Double {
    guard total > 0 else { return 0 }
    let mean = mean
    let sum = steps.reduce(0.0) { sum, step in
      let distance = Double(step.middle) - mean
      return sum + distance * distance * Double(step.count)
    }
    return (sum / Double(total)).squareRoot()
  }

  /// A range of values that share one count.
  public struct Step: Equatable, Sendable {
    /// The lowest value in the step.
    public let lowest: Int
    /// The highest value in the step.
    public let highest: Int
    /// The number of recorded values in the step.
    public let count: Int

    var middle: Int { lowest + (highest - lowest + 1) / 2 }
  }

  /// The steps that contain recorded values, in ascending order.
  public var steps: [Step] {
    used.lazy.filter { counts[$0] > 0 }.map { index in
      Step(lowest: Self.lowest(at: index), highest: Self.highest(at: index), count: counts[index])
    }
  }

  /// The indexes from the step of the smallest value to that of the largest.
  private var used: Range<Int> {
    guard let minimum, let maximum else { return 0..<0 }
    return Self.index(of: minimum)..<Self.index(of: maximum) + 1
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

  /// The number of ranges between powers of two that are in use. HdrHistogram calls these ranges buckets.
  var doublings: Int { max(1, counts.count >> Self.halfBits - 1) }

  /// Creates a histogram from its ``steps``. Returns nil if the steps are invalid, for example if a count is below 1.
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

  /// One line of a distribution by percentile.
  public struct PercentileLine: Equatable, Sendable {
    /// The value at this percentile.
    public let value: Int
    /// The fraction of all values (from 0 to 1) that are no higher than ``value``.
    public let quantile: Double
    /// The number of values that are no higher than ``value``.
    public let count: Int
  }

  /// The distribution by percentile. There are five lines for each halving of the distance to 100 %, and a last line at
  /// 100 %.
  ///
  /// The number of lines is at most one more than the number of `percentileLevels`.
  public var percentileLines: [PercentileLine] {
    var lines: [PercentileLine] = []
    var levels = Self.percentileLevels[...]
    var seen = 0
    for step in steps {
      seen += step.count
      let reached = 100 * Double(seen) / Double(total)
      while let level = levels.first, reached >= level {
        lines.append(PercentileLine(value: min(step.highest, maximum ?? 0), quantile: level / 100, count: seen))
        levels.removeFirst()
        // Higher percentiles would only repeat the last line.
        if seen == total { break }
      }
    }
    if let maximum { lines.append(PercentileLine(value: maximum, quantile: 1, count: total)) }
    return lines
  }

  /// The percentiles below 100 for which there is a line if there are enough values. The list ends where floating-point
  /// numbers are too coarse for the next step.
  static let percentileLevels: [Double] = {
    var levels: [Double] = []
    var level = 0.0
    // Stops when the level rounds to 100 %, or when the next step would no longer change it.
    while level / 100 < 1, levels.last != level {
      levels.append(level)
      level += 100 / ticks(at: level)
    }
    return levels
  }()

  /// Returns how many lines the distribution would have if it were as dense everywhere as at `level` per cent.
  private static func ticks(at level: Double) -> Double {
    var ticks = 10.0
    var distance = 100.0 / (100 - level)
    while distance >= 2 {
      distance /= 2
      ticks *= 2
    }
    return ticks
  }

  /// Returns the distribution in HdrHistogram's text format, which HdrHistogram's plotters can read. Values are divided
  /// by `unit`. For example, 1,000 converts nanoseconds to microseconds.
  ///
  /// ```
  ///        Value     Percentile TotalCount 1/(1-Percentile)
  ///
  ///       12.511 0.000000000000          1           1.00
  /// ```
  public func percentileText(unit: Int = 1) -> String {
    func fixed(_ value: Double, _ places: Int, _ width: Int) -> String {
      FixedText.text(value, places: places).rightAligned(in: width)
    }
    let scale = Double(unit)
    var text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
    for line in percentileLines {
      text += fixed(Double(line.value) / scale, 3, 12) + " " + fixed(line.quantile, 12, 14) + " "
      text += "\(line.count)".rightAligned(in: 10)
      if line.quantile < 1 { text += " " + fixed(1 / (1 - line.quantile), 2, 14) }
      text += "\n"
    }
    text += "#[Mean    = \(fixed(mean / scale, 3, 12)), StdDeviation   = \(fixed(standardDeviation / scale, 3, 12))]\n"
    text += "#[Max     = \(fixed(Double(maximum ?? 0) / scale, 3, 12)), Total count    = "
    text += "\("\(total)".rightAligned(in: 12))]\n"
    text += "#[Buckets = \("\(doublings)".rightAligned(in: 12)), SubBuckets     = "
    text += "\("\(Self.exactLimit)".rightAligned(in: 12))]\n"
    return text
  }
}
