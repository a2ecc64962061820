import AccessoryCore

/// How a recording is played.
public struct ReplaySettings: Sendable {
  /// How fast the delays of the recording pass.
  public enum Speed: Equatable, Sendable {
    /// So many times as fast as they were recorded.
    case times(Double)
    /// Without any delay.
    case max

    /// A recorded delay, as it is played.
    func played(_ delay: Duration) -> Duration {
      switch self {
      case .times(let factor): delay > .zero ? delay / factor : .zero
      case .max: .zero
      }
    }
  }

  /// How fast the delays of the recording pass.
  public var speed = Speed.times(1)
  /// Bytes that may differ.
  public var mask = ReplayMask()
  /// Whether sessions may be opened in another order than in the recording.
  public var takesAnyOrder = false
  /// How much later than recorded the other end may send what is due; nil for any time.
  public var patience: Duration?

  /// How long bytes are looked for after the last recorded one of a session; those that come are a difference.
  public var settle = Duration.milliseconds(200)

  /// At recorded speed, every byte as recorded.
  public init() {}
}
