import AccessorySessions
import IAP2

/// A behaviour made of closures: the short form for tests and small accessories.
///
/// ```swift
/// let shout = ClosureBehavior { bytes, session, _ in
///   let answer = bytes.withUnsafeBytes { $0.map { $0 & 0xDF } }
///   session.write(answer.span.bytes)
/// }
/// let accessory = SimulatedAccessory(profile, at: port, authenticator: stub, on: loop, behavior: { _ in shout }) { … }
/// ```
///
/// Bytes count as read when the closure returns. When the closure writes faster than the device reads, the write is
/// partial (see ``AccessorySessions/Session/write(_:)``) and the rest is dropped; an accessory that must not lose
/// bytes conforms to ``AccessoryBehavior`` itself.
public struct ClosureBehavior: AccessoryBehavior {
  private let opened: (Session, BehaviorContext) -> Void
  private let received: (RawSpan, Session, BehaviorContext) -> Void
  private let ended: (Session, SessionEnd, BehaviorContext) -> Void

  /// A behaviour that calls `opened` when a session was opened, `received` with what arrives, and `ended` once.
  public init(
    opened: @escaping (Session, BehaviorContext) -> Void = { _, _ in },
    ended: @escaping (Session, SessionEnd, BehaviorContext) -> Void = { _, _, _ in },
    received: @escaping (RawSpan, Session, BehaviorContext) -> Void
  ) {
    self.opened = opened
    self.received = received
    self.ended = ended
  }

  /// A handler that calls the closures.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    opened(session, context)
    return Handler(behavior: self, context)
  }

  private final class Handler: SessionHandler {
    private let behavior: ClosureBehavior
    private let context: BehaviorContext

    init(behavior: ClosureBehavior, _ context: BehaviorContext) {
      self.behavior = behavior
      self.context = context
    }

    func sessionIsReadable(_ session: Session) {
      session.read { bytes in
        behavior.received(bytes, session, context)
        return bytes.byteCount
      }
    }

    func sessionIsWritable(_ session: Session) {}
    func session(_ session: Session, endedWith end: SessionEnd) { behavior.ended(session, end, context) }
  }
}
