import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

// Apps that do one thing wrong: each leaves out of ``SoundClient`` what its scenario is about.

/// Waits for a reply without a timeout.
public final class WaitsWithoutEnd: SoundClient {
  override var patience: Duration? { nil }
}

/// Reads at bytes-available events only, and never checks by itself.
public final class ReadsOnlyWhenTold: SoundClient {
  override var looksForBytes: Bool { false }
}

/// Counts its failures and never resets the count: at the limit it stops trying, whatever connects.
public final class NeverForgetsFailures: SoundClient {
  override var forgetsFailures: Bool { false }
  override var attemptLimit: Int { 6 }
}

/// Writes everything in one call, and assumes that all of it was accepted.
public final class WritesOnceAndTrusts: SoundClient {
  override var window: Int { .max }

  override func begin(_ exchange: Exchange, on session: Session) {
    exchange.start(on: session)
    session.handler = DeafToRoom(exchange)
  }

  /// Forwards every event except the one for available space.
  private final class DeafToRoom: SessionHandler {
    private let exchange: Exchange

    init(_ exchange: Exchange) {
      self.exchange = exchange
    }

    func sessionIsReadable(_ session: Session) { exchange.sessionIsReadable(session) }
    func sessionIsWritable(_ session: Session) {}
    func session(_ session: Session, endedWith end: SessionEnd) { exchange.session(session, endedWith: end) }
  }
}

/// Writes as much at once as the session accepts, however large the writes on the wire become.
public final class WritesAllAtOnce: SoundClient {
  override var window: Int { .max }
}

/// Gives an accessory up when its upload takes more than ten seconds, and does not try again.
public final class GivesUpSlowUploads: SoundClient {
  private var hasGivenUp = false
  private weak var app: AppView?

  override func launched(_ app: AppView) {
    self.app = app
    super.launched(app)
  }

  override func begin(_ exchange: Exchange, on session: Session) {
    exchange.start(on: session)
    guard let app else { return }
    later(.seconds(10), app) { [weak self] _ in
      guard let self, current?.session === session, progress != nil else { return }
      hasGivenUp = true
      closeCurrent()
    }
  }

  override var attemptLimit: Int { hasGivenUp ? 0 : super.attemptLimit }
}

/// Treats the first bytes of a session as the reply to its own, even bytes of an earlier session.
public final class BelievesTheFirstByte: SoundClient {
  override var quietTime: Duration { .zero }
}

/// Never sends over an idle session to see whether it still works.
public final class TrustsASilentSession: SoundClient {
  override var probesSilentSessions: Bool { false }
}

/// Takes the second failure in a row as final, and waits for the next connect.
public final class StopsAtTheSecondFailure: SoundClient {
  override var attemptLimit: Int { 2 }
}

/// Takes what it reads at one event for a whole reply, and what comes later for replies to nothing it asked.
public final class TakesOneReadForAReply: SoundClient {
  override func begin(_ exchange: Exchange, on session: Session) {
    exchange.start(on: session)
    session.handler = OneRead(exchange)
  }

  private final class OneRead: SessionHandler {
    private let exchange: Exchange
    private var hasRead = false

    init(_ exchange: Exchange) {
      self.exchange = exchange
    }

    func sessionIsReadable(_ session: Session) {
      if hasRead {
        session.read { $0.byteCount }
      } else {
        hasRead = true
        exchange.sessionIsReadable(session)
      }
    }

    func sessionIsWritable(_ session: Session) { exchange.sessionIsWritable(session) }
    func session(_ session: Session, endedWith end: SessionEnd) { exchange.session(session, endedWith: end) }
  }
}
