import AccessoryCore
import AccessoryRuns

extension BurstReport {
  /// When bursts began in simultaneous runs on several machines. Times are in microseconds since 1970, on each
  /// machine's own clock.
  public struct Start: Equatable, Sendable {
    /// The maximum difference between the starts of simultaneous runs, in microseconds.
    static let farthest = 86_400_000_000

    /// The time given by `--start-at`.
    public var planned = 0
    /// The time at which the first run began, which is later than planned if its sessions were not open in time.
    public var first = 0
    /// The time at which the last run began.
    public var last = 0
    /// The maximum error of the synchronized clocks; nil if none of them is synchronized.
    public var clockError: Int?
    /// The number of clocks that are not synchronised.
    public var unsynchronized = 0

    init() {}

    /// Creates the start of a single run. `clockError` is nil if the clock is not synchronized.
    public init(planned: Int, began: Int, clockError: Int?) {
      (self.planned, first, last) = (planned, began, began)
      self.clockError = clockError
      unsynchronized = clockError == nil ? 1 : 0
    }

    mutating func add(_ other: Start) {
      first = min(first, other.first)
      last = max(last, other.last)
      clockError = [clockError, other.clockError].compactMap(\.self).max()
      unsynchronized += other.unsynchronized
    }

    /// Text such as "2026-11-23T01:30:00Z, the first run 0.1 ms after it, the last 1.3 ms; the clocks differ by at most
    /// 4.2 ms".
    public var text: String {
      func late(_ time: Int) -> String { FixedText.time(Double(max(0, time - planned)) * 1_000) }
      var parts = ["planned for \(StartTime.text(planned)), "]
      parts[0] +=
        first == last
        ? "began \(late(first)) after it" : "the first run began \(late(first)) after it, the last \(late(last))"
      if let clockError {
        let bound = FixedText.time(Double(clockError) * 1_000)
        parts.append("synchronized clocks are off by at most \(bound) each")
      }
      if unsynchronized > 0 {
        parts.append(
          "\(unsynchronized.counted("clock is", "clocks are")) not synchronized, so times may differ by any amount")
      }
      return parts.joined(separator: "; ")
    }
  }
}
