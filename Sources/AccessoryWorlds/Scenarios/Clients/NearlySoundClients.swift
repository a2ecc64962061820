import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

// Apps that do everything right but one thing: what is left out of ``SoundClient`` is what the scenario is about.

/// Waits for an answer for as long as it takes.
public final class WaitsWithoutEnd: SoundClient {
  override var patience: Duration? { nil }
}

/// Reads when it is told that there are bytes, and never looks by itself.
public final class ReadsOnlyWhenTold: SoundClient {
  override var looksForBytes: Bool { false }
}

/// Counts its failures and never forgets one: once its counter is full, it tries nothing any more, whatever comes.
public final class NeverForgetsFailures: SoundClient {
  override var forgetsFailures: Bool { false }
  override var attemptLimit: Int { 6 }
}

/// Writes everything in one call, and takes for granted that everything was taken.
public final class WritesOnceAndTrusts: SoundClient {
  override var window: Int { .max }

  override func begin(_ exchange: Exchange, on session: Session) {
    exchange.start(on: session)
    session.handler = DeafToRoom(exchange)
  }

  /// Hands everything on but the news that there is room again.
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

/// Hands the session as much as it takes at once, however large the writes on the wire become.
public final class WritesAllAtOnce: SoundClient {
  override var window: Int { .max }
}

/// Calls an accessory dead whose upload is not through within ten seconds, and tries no more.
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

/// Takes the first bytes of a session for the answer to its own, whoever they were meant for.
public final class BelievesTheFirstByte: SoundClient {
  override var quietTime: Duration { .zero }
}
