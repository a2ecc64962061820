import AccessoryRuns
import Testing

@testable import AccessoryLoad

@Suite struct AxisTests {
  /// Tests axes that range from a nanosecond to days, and from zero to a terabyte.
  @Test func noAxisRepeatsALabelOrHasFewerThanTwo() {
    for power in 0...16 {
      for factor in [1.0, 1.3, 2, 3.7, 5, 9.99] {
        var high = factor
        for _ in 0..<power { high *= 10 }
        for unit in [Axis.Unit.time, .rate, .count] {
          for axis in [
            Axis(to: high, unit, marks: 8), Axis(to: high, unit, marks: 3),
            Axis(from: -high / 3, to: high, unit, marks: 4),
            Axis(logarithmic: high, high, unit), Axis(logarithmic: high, high * 1.4, unit),
            Axis(logarithmic: high, high * 5_000, unit), Axis(logarithmic: 1, high, unit),
          ] {
            let texts = axis.marks.map(\.text)
            #expect(Set(texts).count == texts.count, "\(high) \(texts)")
            #expect(texts.count >= 2, "\(high) \(unit) \(texts)")
            #expect(texts.count <= 20, "\(high) \(texts)")
            #expect(axis.low < axis.high)
            #expect(
              axis.marks.allSatisfy { axis.low * 0.999 - 1e-6 <= $0.value && $0.value <= axis.high * 1.001 }
                || axis.low < 0)
          }
        }
      }
    }
  }

  @Test func minutesAndHoursAreWrittenWhereEachMarkIsAWholeOne() {
    #expect(Axis(to: 4 * 3_600e9, .time, marks: 4).marks.map(\.text) == ["0", "1 h", "2 h", "3 h", "4 h"])
    #expect(Axis(to: 240e9, .time, marks: 4).marks.map(\.text) == ["0", "1 min", "2 min", "3 min", "4 min"])
    #expect(Axis(to: 90e9, .time, marks: 3).marks.map(\.text) == ["0", "30 s", "60 s", "90 s"])
    #expect(Axis(to: 0.009e9, .time, marks: 3).marks.map(\.text) == ["0", "5 ms"])
  }

  @Test func aLogarithmicAxisHasItsValuesInside() {
    let axis = Axis(logarithmic: 3_000_000, 47_000_000, .time)
    #expect(axis.marks.map(\.text) == ["2 ms", "5 ms", "10 ms", "20 ms", "50 ms"])
    #expect(axis.place(2_000_000) == 0)
    #expect(axis.place(50_000_000) == 1)
  }

  @Test func aLowChartHasALabelForEachDecadeOnly() {
    let axis = Axis(logarithmic: 500_000, 200_000_000, .time, height: 160)
    #expect(axis.marks.map(\.text) == ["1 ms", "10 ms", "100 ms"])
  }

  @Test func aLatencyIsInTheRowThatHoldsIt() {
    for nanoseconds in [0, 1_023, 1_024, 1_279, 1_280, 5_000, 1_000_000, 123_456_789, 60_000_000_000] {
      let row = LatencyColumn.row(of: nanoseconds)
      #expect(row == 0 || LatencyColumn.lowest(row) <= nanoseconds)
      #expect(nanoseconds < LatencyColumn.lowest(row + 1))
    }
    #expect(LatencyColumn.row(of: .max) == LatencyColumn.rows - 1)
  }

  @Test func aMapIsRestoredFromItsCellsAndAddedUp() throws {
    var map = LatencyMap()
    for index in 0..<5_000 { map.add(1_000 * index, at: .milliseconds(77 * index)) }
    #expect(map.slices.count <= LatencyColumn.limit)
    #expect(try #require(LatencyMap(length: map.length, cells: map.cells)) == map)
    map.merge(map)
    #expect(map.cells.reduce(0) { $0 + $1[2] } == 10_000)
  }
}
