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
  static let payload = CountingPattern.bytes(2_000)

  final let loop: any EventLoop
  final let protocolName: String
  /// The session in use, and the publication it belongs to.
  final private(set) var current: (session: Session, accessory: PublishedAccessory)?
  private var exchange: Exchange?
  private var counted = Report()

  /// A client that wants this protocol.
  public required init(wanting protocolName: String, on loop: any EventLoop) {
    self.protocolName = protocolName
    self.loop = loop
  }

  /// How it has fared so far.
  public final var report: Report {
    var report = counted
    report.isServing = current?.session.isOpen == true && counted.verified > 0
    return report
  }

  // MARK: What subclasses decide

  /// An accessory appeared.
  public func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  /// An accessory disappeared.
  public func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  /// The session in use ended by itself, or its payload came back wrong.
  func sessionFailed(_ accessory: PublishedAccessory, _ app: AppView) {}

  /// No session was given.
  func openingFailed(_ accessory: PublishedAccessory, _ app: AppView) {}

  /// What is sent over the next session.
  var nextPayload: [UInt8] { Self.payload }

  /// So many bytes of the payload went out before the session ended.
  func uploadStopped(after sent: Int) {}

  // MARK: What they share

  final func open(_ accessory: PublishedAccessory, _ app: AppView) {
    do {
      let session = try app.openSession(with: accessory, protocolName: protocolName)
      current = (session, accessory)
      let exchange = Exchange(nextPayload, expecting: .echo) { [unowned self] outcome in
        finished(outcome, accessory, app)
      }
      self.exchange = exchange
      exchange.start(on: session)
    } catch {
      counted.refused += 1
      openingFailed(accessory, app)
    }
  }

  private func finished(_ outcome: Exchange.Outcome, _ accessory: PublishedAccessory, _ app: AppView) {
    if outcome.isVerified {
      counted.verified += 1
      watchForEnd(accessory, app)
      return
    }
    if case .ended(_, let sent, _) = outcome { uploadStopped(after: sent) }
    failLater(accessory, app)
  }

  /// The payload is through; from here on the session stays open, and its end is news.
  private func watchForEnd(_ accessory: PublishedAccessory, _ app: AppView) {
    guard let session = current?.session else { return }
    session.handler = EndWatch { [unowned self] in failLater(accessory, app) }
  }

  /// In a later turn: a handler is not the place to open the next session.
  private func failLater(_ accessory: PublishedAccessory, _ app: AppView) {
    loop.schedule(after: .zero) { [weak self, weak app] in
      guard let self, let app, current?.accessory.connectionID == accessory.connectionID else { return }
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
