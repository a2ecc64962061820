import AccessoryCore
import AccessorySessions
import IAP2

/// Reads and discards. With `checks`, the bytes must be those of `easim burst` and `easim send --size`, or EADemo's
/// pattern; lost, repeated, reordered, corrupted and foreign bytes become warnings.
public struct SinkBehavior: AccessoryBehavior {
  private let checks: Bool

  /// A sink.
  public init(checks: Bool = false) {
    self.checks = checks
  }

  /// A handler that takes everything.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    checks ? CheckingSink(context) : Sink()
  }

  private final class Sink: SessionHandler {
    func sessionIsReadable(_ session: Session) { session.read { $0.byteCount } }
    func sessionIsWritable(_ session: Session) {}
    func session(_ session: Session, endedWith end: SessionEnd) {}
  }

  private final class CheckingSink: SessionHandler {
    /// How long the session must be quiet after a wrong byte before the mistake is diagnosed.
    private static let quiet = Duration.milliseconds(500)

    private let context: BehaviorContext
    private var check = SinkCheck()
    private var timer: LoopTimer?

    init(_ context: BehaviorContext) {
      self.context = context
    }

    deinit { timer?.cancel() }

    func sessionIsReadable(_ session: Session) {
      session.read { bytes in
        tell(check.receive(bytes))
        return bytes.byteCount
      }
      guard check.isSuspicious else { return }
      timer = timer ?? context.loop.makeTimer { [unowned self] in tell(check.conclude()) }
      timer?.arm(at: context.loop.now + Self.quiet)
    }

    func sessionIsWritable(_ session: Session) {}

    func session(_ session: Session, endedWith end: SessionEnd) {
      timer?.cancel()
      sessionIsReadable(session)
      timer?.cancel()
      tell(check.end())
    }

    private func tell(_ texts: [String]) {
      for text in texts { context.warn(text) }
    }
  }
}
