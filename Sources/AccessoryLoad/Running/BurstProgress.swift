import AccessoryCore

/// The progress of a run, for a progress bar.
public struct BurstProgress: Equatable, Sendable {
  /// Bursts completed and counted.
  public var bursts = 0
  /// Bytes of these bursts.
  public var bytes = 0
  /// The number of errors.
  public var errors = 0
  /// Bursts begun, including those of the warm-up.
  public var begun = 0
  /// Bursts lost with their session.
  public var lost = 0
  /// Bursts with a fixed time that did not begin in time.
  public var overdue = 0
  /// The time since measuring began.
  public var elapsed = Duration.zero
  /// The progress from 0 to 1.
  public var fraction = 0.0

  /// The estimated remaining time; nil if there is no estimate.
  public var timeLeft: Duration? {
    guard fraction > 0.001 else { return nil }
    return .nanoseconds(Int64(elapsed.inSeconds * max(0, 1 / fraction - 1) * 1e9))
  }
}
