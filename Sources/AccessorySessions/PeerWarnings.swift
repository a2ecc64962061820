import AccessoryCore
import IAP2

/// Reports what the other end of one cable does wrong. It may do so with every packet, and a terminal is not to be filled
/// by that: see ``ReportLimit``.
public final class PeerWarnings {
  private let limit: ReportLimit

  /// Creates warnings that are passed to `tell`.
  public init(on loop: any EventLoop, tell: @escaping (TimelineEvent.Kind) -> Void) {
    limit = ReportLimit("warnings about bytes and messages from the other end", on: loop) { tell(.warning($0)) }
  }

  /// Reports a warning, or counts it.
  public func note(_ warning: TimelineEvent.Kind) {
    guard case .warning(let text) = warning else { preconditionFailure("\(warning) is no warning") }
    limit.report(text)
  }

  /// Reports at once how many were counted: the cable is gone.
  public func flush() {
    limit.flush()
  }
}
