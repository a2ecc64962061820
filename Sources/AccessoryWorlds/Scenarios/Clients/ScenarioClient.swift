import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

/// An app inside a scenario: wants one protocol, opens a session on it, sends a payload and verifies the echo.
///
/// The sound client and every naive one are subclasses that differ in what they make of connects, disconnects and ends.
/// What they share, opening and verifying, is here; how they fared is in ``report``.
public class ScenarioClient: AppHandler {
  /// How a client fared.
  public struct Report: Equatable, Sendable {
    /// Payloads whose echo was verified.
    public var verified = 0
    /// Sessions that were asked for and not given.
    public var refused = 0
    /// Whether a session is open whose payload was verified.
    public var isServing = false
  }

  /// The bytes that are sent over each session.
  final var payload: [UInt8] = []
  /// When the app was launched.
  final var beginning: Instant

  final let loop: any EventLoop
  final let protocolName: String
  /// The session in use, and the publication it belongs to.
  final private(set) var current: (session: Session, accessory: PublishedAccessory)?
  private var exchange: Exchange?
  private var counted = Report()
  /// What came due while the app did not run.
  private var overdue: [() -> Void] = []

  /// A client that wants this protocol.
  public required init(wanting protocolName: String, on loop: any EventLoop) {
    self.protocolName = protocolName
    self.loop = loop
    beginning = loop.now
  }

  /// How it has fared so far.
  public final var report: Report {
    var report = counted
    report.isServing = current?.session.isOpen == true && counted.verified > 0
    return report
  }

  // MARK: What subclasses decide

  /// The app was launched.
  func launched(_ app: AppView) {}

  /// The app came to the screen.
  func becameActive(_ app: AppView) {}

  /// An accessory appeared.
  public func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  /// An accessory disappeared.
  public func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  /// The session in use ended by itself, or its payload came back wrong.
  func sessionFailed(_ accessory: PublishedAccessory, _ app: AppView) {}

  /// No session was given.
  func openingFailed(_ accessory: PublishedAccessory, _ app: AppView) {}

  /// What is sent over the next session.
  var nextPayload: [UInt8] { payload }

  /// How many bytes of it may be under way that have not come back.
  var window: Int { .max }

  /// How long a new session is only listened to, and what comes is thrown away.
  var quietTime: Duration { .zero }

  /// Begins to send.
  func begin(_ exchange: Exchange, on session: Session) {
    exchange.start(on: session)
  }

  /// So many bytes of the payload went out before the session ended.
  func uploadStopped(after sent: Int) {}

  // MARK: What they share

  /// The user asks for a session.
  final func userWants(_ accessory: PublishedAccessory, _ app: AppView) {
    closeCurrent()
    open(accessory, app)
  }

  final func open(_ accessory: PublishedAccessory, _ app: AppView) {
    do {
      let session = try app.openSession(with: accessory, protocolName: protocolName)
      current = (session, accessory)
      guard quietTime > .zero else { return send(over: session, accessory, app) }
      watchForEnd(of: session, accessory, app)
      later(quietTime, app) { [weak self] app in
        guard let self, current?.session === session, session.isOpen else { return }
        send(over: session, accessory, app)
      }
    } catch {
      counted.refused += 1
      openingFailed(accessory, app)
    }
  }

  private func send(over session: Session, _ accessory: PublishedAccessory, _ app: AppView) {
    let exchange = Exchange(nextPayload, expecting: .echo, window: window) { [unowned self] outcome in
      finished(outcome, session, accessory, app)
    }
    self.exchange = exchange
    begin(exchange, on: session)
  }

  /// Nothing is expected of the session any more, or yet; but its end is news.
  private func watchForEnd(of session: Session, _ accessory: PublishedAccessory, _ app: AppView) {
    session.handler = EndWatch { [unowned self] in failLater(session, accessory, app) }
  }

  /// Does something later; if the app does not run then, when it runs again.
  final func later(_ delay: Duration, _ app: AppView, _ work: @escaping (AppView) -> Void) {
    loop.schedule(after: delay) { [weak self, weak app] in
      guard let self, let app else { return }
      if app.state == .suspended { overdue.append { [weak app] in if let app { work(app) } } } else { work(app) }
    }
  }

  /// The app runs again.
  final func runAgain() {
    let due = overdue
    overdue = []
    for work in due { work() }
  }

  /// How far the exchange on the session in use has come; nil when it is through, or has not begun.
  final var progress: Int? { exchange.map { $0.progress.sent + $0.progress.received } }

  /// Reads what waits in the session in use, told of it or not.
  final func lookForBytes() {
    if let exchange, let session = current?.session { exchange.sessionIsReadable(session) }
  }

  private func finished(
    _ outcome: Exchange.Outcome, _ session: Session, _ accessory: PublishedAccessory, _ app: AppView
  ) {
    exchange = nil
    if outcome.isVerified {
      counted.verified += 1
      return watchForEnd(of: session, accessory, app)
    }
    if case .ended(_, let sent, _) = outcome { uploadStopped(after: sent) }
    failLater(session, accessory, app)
  }

  /// In a later turn: a handler is not the place to open the next session.
  private func failLater(_ session: Session, _ accessory: PublishedAccessory, _ app: AppView) {
    later(.zero, app) { [weak self] app in
      guard let self, current?.session === session else { return }
      sessionFailed(accessory, app)
    }
  }

  final func closeCurrent() {
    let session = current?.session
    current = nil
    exchange = nil
    session?.handler = nil
    session?.close()
  }

  private final class EndWatch: SessionHandler {
    private let ended: () -> Void

    init(_ ended: @escaping () -> Void) {
      self.ended = ended
    }

    func sessionIsReadable(_ session: Session) { session.read { $0.byteCount } }
    func sessionIsWritable(_ session: Session) {}
    func session(_ session: Session, endedWith end: SessionEnd) { ended() }
  }
}
