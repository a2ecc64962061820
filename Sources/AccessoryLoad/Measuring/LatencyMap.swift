import AccessoryCore

/// Counts bursts by completion time and latency, for a heat map.
///
/// No matter how long a run lasts, there are at most ``limit`` columns. When the limit is reached, pairs of columns are
/// merged. There are four rows for each doubling of the latency, from one microsecond to more than four minutes.
public struct LatencyMap: Equatable, Sendable {
  /// The maximum number of columns.
  public static let limit = 120
  /// The number of rows, each of which covers a range of latencies.
  public static let rows = 112
  private static let rowBits = 2
  /// The base-2 logarithm of the latency, in nanoseconds, at which the first row ends.
  private static let lowestBit = 10

  /// The time that each column covers: ``ThroughputSeries/finest`` multiplied by a power of two.
  public private(set) var length = ThroughputSeries.finest
  /// The counts, column by column. Each column begins with the row for the lowest latencies.
  private var counts: [Int] = []

  /// Creates an empty map.
  public init() {}

  /// The number of columns.
  public var columns: Int { counts.count / Self.rows }

  /// Returns the number of bursts in a column and row.
  public func count(_ column: Int, _ row: Int) -> Int { counts[column * Self.rows + row] }

  /// Returns the lowest latency in a row, in nanoseconds. For the row after the last one, returns the end of the last
  /// row.
  public static func lowest(_ row: Int) -> Int { (4 + row & 3) << (row >> rowBits + lowestBit - rowBits) }

  static func row(of nanoseconds: Int) -> Int {
    guard nanoseconds >= 1 << lowestBit else { return 0 }
    let bit = Int.bitWidth - 1 - nanoseconds.leadingZeroBitCount
    return min(rows - 1, (bit - lowestBit) << rowBits + (nanoseconds >> (bit - rowBits)) & 3)
  }

  /// Counts a burst that was completed at `time` after the start of the run.
  mutating func add(_ nanoseconds: Int, at time: Duration) {
    add(1, row: Self.row(of: nanoseconds), at: max(0, time.wholeNanoseconds))
  }

  private mutating func add(_ count: Int, row: Int, at nanoseconds: Int64) {
    var unit = length.wholeNanoseconds
    while nanoseconds / unit >= Self.limit {
      halve()
      unit *= 2
    }
    let column = Int(nanoseconds / unit)
    if column >= columns { counts += [Int](repeating: 0, count: (column + 1 - columns) * Self.rows) }
    counts[column * Self.rows + row] += count
  }

  /// Adds the counts of another run as if that run had begun `shift` later.
  mutating func merge(_ other: LatencyMap, after shift: Duration = .zero) {
    while length < other.length { halve() }
    let (unit, begin) = (other.length.wholeNanoseconds, max(0, shift.wholeNanoseconds))
    for cell in other.cells { add(cell[2], row: cell[1], at: Int64(cell[0]) * unit + begin) }
  }

  /// Returns the counts that this run would have had if it had begun `shift` earlier.
  func delayed(by shift: Duration) -> LatencyMap {
    var map = LatencyMap()
    map.merge(self, after: shift)
    return map
  }

  private mutating func halve() {
    length = length * 2
    let before = counts
    counts = [Int](repeating: 0, count: (columns + 1) / 2 * Self.rows)
    for (index, count) in before.enumerated() where count > 0 {
      counts[index / Self.rows / 2 * Self.rows + index % Self.rows] += count
    }
  }

  /// The column, row and count of each cell whose count is not zero.
  var cells: [[Int]] {
    counts.enumerated().filter { $0.element > 0 }.map { [$0.offset / Self.rows, $0.offset % Self.rows, $0.element] }
  }

  /// Restores a map from its cells, or returns nil if the cells are invalid.
  init?(length: Duration, cells: [[Int]]) {
    var allowed = ThroughputSeries.finest
    while allowed < length { allowed = allowed * 2 }
    guard allowed == length else { return nil }
    self.length = length
    for cell in cells {
      guard cell.count == 3, 0..<Self.limit ~= cell[0], 0..<Self.rows ~= cell[1], cell[2] > 0 else { return nil }
      let column = cell[0]
      if column >= columns { counts += [Int](repeating: 0, count: (column + 1 - columns) * Self.rows) }
      let (sum, overflow) = counts[column * Self.rows + cell[1]].addingReportingOverflow(cell[2])
      if overflow { return nil }
      counts[column * Self.rows + cell[1]] = sum
    }
  }
}
