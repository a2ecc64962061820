import AccessorySessions
import IAP2

/// Sends back what it receives, in order, and reads no faster than the other side takes it.
public struct EchoBehavior: AccessoryBehavior {
  /// An echo.
  public init() {}

  /// A handler that echoes.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler { Echo() }

  private final class Echo: SessionHandler {
    func sessionIsReadable(_ session: Session) {
      // Until nothing is unread or the session has no room. What stays unread is in the end not acknowledged either.
      while session.read({ session.write($0) }) > 0 {}
    }

    func sessionIsWritable(_ session: Session) { sessionIsReadable(session) }
    func session(_ session: Session, endedWith end: SessionEnd) {}
  }
}
