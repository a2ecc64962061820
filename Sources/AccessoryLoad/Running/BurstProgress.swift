import AccessoryCore

/// A run's progress, for use in a progress bar.
public struct BurstProgress: Equatable, Sendable {
  /// The number of bursts completed and measured.
  public var bursts = 0
  /// The number of bytes in these bursts.
  public var bytes = 0
  /// The number of errors so far.
  public var errors = 0
  /// The number of bursts that began, including those during the warm-up.
  public var begun = 0
  /// The number of bursts lost because their session ended.
  public var lost = 0
  /// The number of scheduled bursts that did not begin in time.
  public var overdue = 0
  /// The time since measuring began.
  public var elapsed = Duration.zero
  /// The progress from 0 to 1.
  public var fraction = 0.0

  /// The estimated time remaining, or nil if it cannot be estimated.
  public var timeLeft: Duration? {
    guard fraction > 0.001 else { return nil }
    return .nanoseconds(Int64(elapsed.inSeconds * max(0, 1 / fraction - 1) * 1e9))
  }
}
