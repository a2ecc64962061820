import AccessoryRuns

extension Histogram {
  /// One line of a percentile distribution.
  public struct PercentileLine: Equatable, Sendable {
    /// The value at this percentile.
    public let value: Int
    /// The fraction of all values, from 0 to 1, that is at most ``value``.
    public let quantile: Double
    /// The number of values that are at most ``value``.
    public let count: Int
  }

  /// The distribution by percentile: five lines each time the distance to 100 % halves, and a last line at 100 %.
  ///
  /// There are at most `percentileLevels` lines plus one, however many values there are.
  public var percentileLines: [PercentileLine] {
    var lines: [PercentileLine] = []
    var levels = Self.percentileLevels[...]
    var seen = 0
    for step in steps {
      seen += step.count
      let reached = 100 * Double(seen) / Double(total)
      while let level = levels.first, reached >= level {
        lines.append(
          PercentileLine(value: min(step.highest, maximum ?? 0), quantile: level / 100, count: seen))
        levels.removeFirst()
        // All values are listed; finer percentiles would only repeat the last line.
        if seen == total { break }
      }
    }
    if let maximum { lines.append(PercentileLine(value: maximum, quantile: 1, count: total)) }
    return lines
  }

  /// The percentiles below 100 that get a line if there are enough values. The list ends where a floating-point number
  /// can no longer represent the next step.
  static let percentileLevels: [Double] = {
    var levels: [Double] = []
    var level = 0.0
    // The loop stops when the level rounds to 100 % or when the next step would not change it.
    while level / 100 < 1, levels.last != level {
      levels.append(level)
      level += 100 / ticks(at: level)
    }
    return levels
  }()

  /// Returns how many lines the whole list would have if its lines were as close together as at `level` per cent.
  private static func ticks(at level: Double) -> Double {
    var ticks = 10.0
    var distance = 100.0 / (100 - level)
    while distance >= 2 {
      distance /= 2
      ticks *= 2
    }
    return ticks
  }

  /// Returns the distribution in HdrHistogram's text format, which its plotters read. Values are divided by `unit`:
  /// 1,000 converts nanoseconds to microseconds.
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
