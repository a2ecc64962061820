import AccessoryCore
import IAP2

/// Reads whatever comes over a session, and discards it.
package final class Discarder: SessionHandler {
  private let ended: () -> Void

  /// A handler that calls `ended` when the session is over.
  package init(_ ended: @escaping () -> Void = {}) {
    self.ended = ended
  }

  /// Bytes arrived.
  package func sessionIsReadable(_ session: Session) { session.read { $0.byteCount } }
  /// There is room; nothing is written.
  package func sessionIsWritable(_ session: Session) {}
  /// The session is over.
  package func session(_ session: Session, endedWith end: SessionEnd) { ended() }
}
