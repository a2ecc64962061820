import AccessoryCore
import Testing

@testable import AccessoryLoad

@Suite struct ThroughputSeriesTests {
  static func series(_ tenths: some Sequence<Int>) -> ThroughputSeries {
    var series = ThroughputSeries()
    for tenth in tenths {
      series.add(at: .milliseconds(tenth * 100 + 50)) { slice in
        slice.bursts += 1
        slice.bytes += 1
      }
    }
    return series
  }

  @Test func whatHappensIsInTheSliceOfItsTime() {
    #expect(Self.series([0, 2, 2]).slices.map(\.bursts) == [1, 0, 2])
  }

  @Test func aLongRunHasNoMoreSlicesAndLosesNothing() {
    let series = Self.series(0..<100_000)
    #expect(series.slices.count <= ThroughputSlice.limit)
    #expect(series.length == .milliseconds(25_600))
    #expect(series.slices.reduce(0) { $0 + $1.bursts } == 100_000)
    #expect(series.slices.dropLast().allSatisfy { $0.bursts == 256 })
    // A week without bursts takes no more memory.
    #expect(Self.series([0, 7 * 24 * 3_600 * 10]).slices.count <= ThroughputSlice.limit)
  }

  @Test func mergingBringsBothToTheCoarserSlices() {
    var (short, long) = (Self.series(0..<10), Self.series(0..<1_000))
    let expected = long
    long.merge(short)
    #expect(long.slices.map(\.bursts).reduce(0, +) == 1_010)
    #expect(long.slices[0].bursts == expected.slices[0].bursts * 2)
    short.merge(expected)
    #expect(short == long)
  }

  @Test func onlyLengthsThatThereCanBeAreReadBack() {
    #expect(ThroughputSeries(length: .milliseconds(400), slices: []) != nil)
    #expect(ThroughputSeries(length: .milliseconds(300), slices: []) == nil)
    #expect(ThroughputSeries(length: .zero, slices: []) == nil)
    let many = [ThroughputSlice](repeating: .init(), count: ThroughputSlice.limit + 1)
    #expect(ThroughputSeries(length: .milliseconds(100), slices: many) == nil)
  }
}
