import AccessoryCore

/// What happened in one slice of a run's time.
public protocol TimeSlice: Equatable, Sendable {
  /// The maximum number of slices.
  static var limit: Int { get }
  /// Creates an empty slice.
  init()
  /// Adds what happened in another slice.
  mutating func add(_ other: Self)
}

/// What happened over time, in slices of equal length.
///
/// No matter how long a run lasts, the number of slices is limited. When the limit is reached, pairs of slices are
/// merged.
public struct TimeSlices<Slice: TimeSlice>: Equatable, Sendable {
  /// The initial length of the slices.
  public static var finest: Duration { .milliseconds(100) }

  /// The time that each slice covers: ``finest`` multiplied by a power of two.
  public private(set) var length = Self.finest
  /// The slices in order, from the beginning of the run.
  public private(set) var slices: [Slice] = []

  /// Creates an empty series.
  public init() {}

  mutating func add(at time: Duration, _ change: (inout Slice) -> Void) {
    let nanoseconds = max(0, time.wholeNanoseconds)
    while nanoseconds / length.wholeNanoseconds >= Slice.limit { halve() }
    let index = Int(nanoseconds / length.wholeNanoseconds)
    if index >= slices.count { slices += [Slice](repeating: Slice(), count: index + 1 - slices.count) }
    change(&slices[index])
  }

  /// Returns the end of the slice that contains `time`, with both times measured from the start of the run.
  func end(of time: Duration) -> Duration {
    let unit = length.wholeNanoseconds
    return .nanoseconds((max(0, time.wholeNanoseconds) / unit + 1) * unit)
  }

  /// Adds the slices of another run as if that run had begun `shift` later.
  mutating func merge(_ other: Self, after shift: Duration = .zero) {
    while length < other.length { halve() }
    for (index, slice) in other.slices.enumerated() { add(at: other.length * index + shift) { $0.add(slice) } }
  }

  /// Returns the slices that this run would have had if it had begun `shift` earlier.
  func delayed(by shift: Duration) -> Self {
    var series = Self()
    series.merge(self, after: shift)
    return series
  }

  private mutating func halve() {
    length = length * 2
    slices = stride(from: 0, to: slices.count, by: 2).map { index in
      var slice = slices[index]
      if index + 1 < slices.count { slice.add(slices[index + 1]) }
      return slice
    }
  }

  init?(length: Duration, slices: [Slice]) {
    var allowed = Self.finest
    while allowed < length { allowed = allowed * 2 }
    guard allowed == length, slices.count <= Slice.limit else { return nil }
    self.length = length
    self.slices = slices
  }
}

/// The throughput over time.
public typealias ThroughputSeries = TimeSlices<ThroughputSlice>

/// The bursts and bytes in one slice of time.
public struct ThroughputSlice: TimeSlice {
  /// The maximum number of slices.
  public static let limit = 600

  /// The number of bursts completed in this slice.
  public var bursts = 0
  /// The number of payload bytes in the bursts completed in this slice.
  public var bytes = 0
  /// The number of errors in this slice.
  public var errors = 0
  /// The number of bytes that sessions accepted in this slice, including bytes of incomplete bursts.
  public var sent = 0
  /// The number of bytes received in this slice.
  public var received = 0

  /// Creates an empty slice.
  public init() {}

  init(bursts: Int, bytes: Int, errors: Int, sent: Int, received: Int) {
    (self.bursts, self.bytes, self.errors, self.sent, self.received) = (bursts, bytes, errors, sent, received)
  }

  /// Adds the counts of another slice.
  public mutating func add(_ other: ThroughputSlice) {
    bursts += other.bursts
    bytes += other.bytes
    errors += other.errors
    sent += other.sent
    received += other.received
  }
}

/// Counts bursts by completion time and latency, for a heat map.
public typealias LatencyMap = TimeSlices<LatencyColumn>

/// The bursts that were completed in one slice of time, counted by latency.
///
/// There are four rows for each doubling of the latency, from one microsecond to more than four minutes.
public struct LatencyColumn: TimeSlice {
  /// The maximum number of columns.
  public static let limit = 120
  /// The number of rows, each of which covers a range of latencies.
  public static let rows = 112
  private static let rowBits = 2
  /// The base-2 logarithm of the latency, in nanoseconds, at which the first row ends.
  private static let lowestBit = 10

  /// The counts, beginning with the row for the lowest latencies.
  public fileprivate(set) var counts = [Int](repeating: 0, count: rows)

  /// Creates an empty column.
  public init() {}

  /// Adds the counts of another column.
  public mutating func add(_ other: LatencyColumn) {
    for row in counts.indices { counts[row] += other.counts[row] }
  }

  /// Returns the lowest latency in a row, in nanoseconds. For the row after the last one, returns the end of the last
  /// row.
  public static func lowest(_ row: Int) -> Int { (4 + row & 3) << (row >> rowBits + lowestBit - rowBits) }

  static func row(of nanoseconds: Int) -> Int {
    guard nanoseconds >= 1 << lowestBit else { return 0 }
    let bit = Int.bitWidth - 1 - nanoseconds.leadingZeroBitCount
    return min(rows - 1, (bit - lowestBit) << rowBits + (nanoseconds >> (bit - rowBits)) & 3)
  }
}

extension LatencyMap {
  mutating func add(_ nanoseconds: Int, at time: Duration) {
    add(at: time) { $0.counts[LatencyColumn.row(of: nanoseconds)] += 1 }
  }

  /// The column, row and count of each cell whose count is not zero.
  var cells: [[Int]] {
    slices.enumerated().flatMap { column, slice in
      slice.counts.enumerated().filter { $0.element > 0 }.map { [column, $0.offset, $0.element] }
    }
  }

  init?(length: Duration, cells: [[Int]]) {
    var columns: [LatencyColumn] = []
    for cell in cells {
      guard cell.count == 3, 0..<LatencyColumn.limit ~= cell[0], 0..<LatencyColumn.rows ~= cell[1], cell[2] > 0 else {
        return nil
      }
      while columns.count <= cell[0] { columns.append(LatencyColumn()) }
      let (sum, overflow) = columns[cell[0]].counts[cell[1]].addingReportingOverflow(cell[2])
      if overflow { return nil }
      columns[cell[0]].counts[cell[1]] = sum
    }
    self.init(length: length, slices: columns)
  }
}
