import AccessoryCore
import AccessorySessions
import IAP2

/// Takes what it receives. With `checks`, it must be what `easim burst` and `easim send --size` send, or EADemo's pattern:
/// what is lost, repeated, reordered, corrupted or foreign is told as a warning.
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
    /// For how long nothing must come after something wrong, before it is said what it was.
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
