import AccessoryCore

/// The throughput over time, in slices of equal length.
///
/// No matter how long a run lasts, there are at most ``limit`` slices. When the limit is reached, pairs of slices are
/// merged.
public struct ThroughputSeries: Equatable, Sendable {
  /// One slice of the series.
  public struct Slice: Equatable, Sendable {
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

    init(bursts: Int, bytes: Int, errors: Int) { (self.bursts, self.bytes, self.errors) = (bursts, bytes, errors) }

    mutating func add(_ other: Slice) {
      bursts += other.bursts
      bytes += other.bytes
      errors += other.errors
      sent += other.sent
      received += other.received
    }
  }

  /// The maximum number of slices.
  public static let limit = 600
  /// The initial length of the slices.
  public static let finest = Duration.milliseconds(100)

  /// The time that each slice covers: ``finest`` multiplied by a power of two.
  public private(set) var length = Self.finest
  /// The slices in order, from the beginning of the run.
  public private(set) var slices: [Slice] = []

  /// Creates an empty series.
  public init() {}

  /// Whether the series includes the bytes sent and received, which reports from earlier versions of easim omit.
  public var hasFlow: Bool { slices.contains { $0.sent > 0 || $0.received > 0 } }

  /// Applies `change` to the slice at `time` after the start of the run.
  mutating func add(at time: Duration, _ change: (inout Slice) -> Void) {
    let nanoseconds = max(0, time.wholeNanoseconds)
    while nanoseconds / length.wholeNanoseconds >= Self.limit { halve() }
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
  mutating func merge(_ other: ThroughputSeries, after shift: Duration = .zero) {
    while length < other.length { halve() }
    for (index, slice) in other.slices.enumerated() { add(at: other.length * index + shift) { $0.add(slice) } }
  }

  /// Returns the slices that this run would have had if it had begun `shift` earlier.
  func delayed(by shift: Duration) -> ThroughputSeries {
    var series = ThroughputSeries()
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

  /// Restores a series from its slices, or returns nil if they are invalid.
  init?(length: Duration, slices: [Slice]) {
    var allowed = Self.finest
    while allowed < length { allowed = allowed * 2 }
    guard allowed == length, slices.count <= Self.limit else { return nil }
    self.length = length
    self.slices = slices
  }
}
