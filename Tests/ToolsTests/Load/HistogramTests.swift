import AccessoryFormats
import Testing

@testable import AccessoryLoad

@Suite struct HistogramTests {
  /// Returns values of every magnitude. Small values are as frequent as large ones.
  static func values(_ count: Int, seed: UInt64) -> [Int] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in Int(random.next() >> 2) >> Int.random(in: 0...61, using: &random) }
  }

  static func histogram(_ values: some Sequence<Int>) -> Histogram {
    var histogram = Histogram()
    for value in values { histogram.record(value) }
    return histogram
  }

  @Test(arguments: [1, 3, 1_000, 20_000], [1, 7] as [UInt64])
  func percentilesAreThoseOfTheSortedValuesToThreeDigits(count: Int, seed: UInt64) {
    let values = Self.values(count, seed: seed)
    let histogram = Self.histogram(values)
    let sorted = values.sorted()
    #expect(histogram.total == count)
    #expect(histogram.minimum == sorted.first)
    #expect(histogram.maximum == sorted.last)
    for percentile in [0, 0.1, 10, 25, 50, 75, 90, 99, 99.9, 99.99, 100] {
      let rank = max(1, Int((percentile / 100 * Double(count)).rounded(.up)))
      let exact = sorted[rank - 1]
      let told = histogram.value(atPercentile: percentile)
      #expect(told >= exact)
      #expect(Double(told - exact) <= Double(exact) / 1_000, "p\(percentile): \(told) for \(exact)")
    }
    let mean = values.reduce(0.0) { $0 + Double($1) / Double(count) }
    #expect(abs(histogram.mean - mean) <= mean / 1_000)
  }

  @Test func smallValuesAreExact() {
    let histogram = Self.histogram(0..<2_048)
    for percentile in stride(from: 1.0, through: 100, by: 1) {
      let rank = max(1, Int((percentile / 100 * 2_048).rounded(.up)))
      #expect(histogram.value(atPercentile: percentile) == rank - 1)
    }
    #expect(histogram.steps.allSatisfy { $0.lowest == $0.highest })
  }

  @Test func everyStepBeginsWhereTheOneBeforeItEnds() {
    for index in 0..<(Histogram.index(of: .max)) {
      #expect(Histogram.highest(at: index) + 1 == Histogram.lowest(at: index + 1))
      #expect(Histogram.index(of: Histogram.lowest(at: index)) == index)
      #expect(Histogram.index(of: Histogram.highest(at: index)) == index)
    }
    #expect(Histogram.highest(at: Histogram.index(of: .max)) == .max)
  }

  @Test func memoryIsBoundedForTheLargestValue() {
    var histogram = Histogram()
    histogram.record(.max)
    #expect(histogram.counts.count <= 55 * 1_024)
    #expect(histogram.value(atPercentile: 50) == .max)
  }

  @Test(arguments: [3, 4, 5] as [UInt64]) func mergingIsTheSameAsRecordingIntoOne(seed: UInt64) {
    let (left, right) = (Self.values(500, seed: seed), Self.values(300, seed: seed + 100))
    var merged = Self.histogram(left)
    merged.merge(Self.histogram(right))
    #expect(merged == Self.histogram(left + right))
    var other = Self.histogram(right)
    other.merge(Self.histogram(left))
    // The histograms' lists of counts may differ in length, but the histograms must have the same steps.
    #expect(other.steps == merged.steps)
    var same = merged
    same.merge(Histogram())
    #expect(same == merged)
  }

  @Test func nothingRecordedIsZeroEverywhere() {
    let histogram = Histogram()
    #expect(histogram.value(atPercentile: 99) == 0)
    #expect(histogram.mean == 0)
    #expect(histogram.standardDeviation == 0)
    #expect(histogram.percentileLines.isEmpty)
    #expect(histogram.percentileText().contains("Total count    =            0"))
  }

  /// The percentile table has the form that HdrHistogram's documentation describes, with five levels for each halving
  /// of the distance to 100 %.
  @Test func thePercentileTextHasTheFormOfHdrHistogram() {
    let text = Self.histogram((1...10).map { $0 * 1_000 }).percentileText(unit: 1_000)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines[0] == "       Value     Percentile TotalCount 1/(1-Percentile)")
    #expect(lines[1] == "")
    #expect(lines[2] == "       1.000 0.000000000000          1           1.00")
    #expect(lines[3] == "       1.000 0.100000000000          1           1.11")
    #expect(lines[4] == "       2.000 0.200000000000          2           1.25")
    #expect(lines[7] == "       5.003 0.500000000000          5           2.00")
    #expect(lines[8] == "       6.003 0.550000000000          6           2.22")
    #expect(lines.contains("      10.000 1.000000000000         10"))
    #expect(lines.contains("#[Mean    =        5.502, StdDeviation   =        2.874]"))
    #expect(lines.contains("#[Max     =       10.000, Total count    =           10]"))
    #expect(lines.contains { $0.hasPrefix("#[Buckets = ") && $0.hasSuffix("SubBuckets     =         2048]") })
  }

  @Test(arguments: [5, 6] as [UInt64]) func thePercentileLinesRiseToTheEnd(seed: UInt64) {
    let histogram = Self.histogram(Self.values(5_000, seed: seed))
    let lines = histogram.percentileLines
    #expect(lines.last == .init(value: histogram.maximum ?? 0, quantile: 1, count: 5_000))
    for (line, next) in zip(lines, lines.dropFirst()) {
      #expect(line.quantile < next.quantile)
      #expect(line.value <= next.value)
      #expect(Double(line.count) / 5_000 >= line.quantile)
    }
  }
}
