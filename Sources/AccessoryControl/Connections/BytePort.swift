import AccessoryCore
import AccessorySessions
import Glibc
import IAP2
import LinuxIO

/// Carries a session's bytes over a separate connection, on which a client must first present the session's ticket.
///
/// ```
///   waiting for its ticket at a ControlPort ──▶ a ``SessionRelay`` moves the bytes
///       │ 30 s
///       ▼
///     given up: requests move the bytes again
/// ```
///
/// A session may end while its client is still connecting. The ticket remains valid, for the bytes that arrived before.
final class BytePort: SessionHandler {
  private static let patience = Duration.seconds(30)
  private static let lingering = Duration.seconds(2)

  let ticket = SecretToken.make()
  private weak var owner: ControlledSession?
  private unowned let server: ControlServer
  private let session: Session
  private let loop: any PollingLoop
  private var timer: LoopTimer?
  private var relay: SessionRelay?

  init(for owner: ControlledSession) throws(RPCError) {
    guard owner.world.virtual == nil, let loop = owner.world.server.loop as? any PollingLoop else {
      throw RPCError(
        .time, "the world '\(owner.world.id)' runs in virtual time, but a session's own connection needs real time",
        advice: "use session.read and session.write")
    }
    (self.owner, self.loop, session, server) = (owner, loop, owner.session, owner.world.server)
    timer = loop.schedule(after: Self.patience) { [weak self] in self?.stopWaiting() }
    owner.port = self
    server.bytePorts[ticket] = self
  }

  deinit {
    timer?.cancel()
    relay?.finish()
  }

  /// Stops waiting for a connection, because none arrived in time.
  private func stopWaiting() {
    server.bytePorts[ticket] = nil
    giveBack()
  }

  /// Makes requests carry the session's bytes again.
  private func giveBack() {
    guard relay == nil, let owner, owner.port === self else { return }
    owner.port = nil
    owner.sessionIsReadable(session)
  }

  /// Starts carrying the session's bytes over the connection on which the ticket was presented.
  func begin(_ socket: Int32, _ rest: [UInt8]) {
    timer?.cancel()
    // Since the ticket was issued, the session may have ended, but the app may also have been killed.
    guard let owner,
      owner.port === self
        || owner.port == nil && !session.isOpen && (owner.accessory != nil || owner.app?.view != nil)
    else {
      Glibc.close(socket)
      return
    }
    owner.port = self
    do {
      let stream = try DescriptorStream(takingSocket: socket, after: rest, on: loop)
      let relay = SessionRelay(
        stream, linger: Self.lingering, whenReaderLeaves: .finishInput(whileWaiting: false), on: loop,
        closingReason: Self.reason(of:)
      ) { relay, _ in relay.finish() }
      self.relay = relay
      relay.attach(session, isHandler: false)
    } catch { session.close("the connection that carries its bytes failed: \(error)") }
  }

  private static func reason(of ending: SessionRelay.Ending) -> String {
    if case .failed(let reason) = ending {
      "the connection that carries its bytes failed: \(reason)"
    } else {
      "the connection that carries its bytes was closed"
    }
  }

  // MARK: SessionHandler

  func sessionIsReadable(_ session: Session) { relay?.sessionIsReadable(session) }

  func sessionIsWritable(_ session: Session) { relay?.sessionIsWritable(session) }

  func session(_ session: Session, endedWith end: SessionEnd) {
    giveBack()
    relay?.session(session, endedWith: end)
  }
}

/// Creates tokens that cannot be guessed, and compares tokens.
package enum SecretToken {
  /// Returns 32 random hexadecimal digits from the kernel.
  package static func make() -> String {
    var random = SystemRandomNumberGenerator()
    return Hex.number(random.next()) + Hex.number(random.next())
  }

  /// Compares tokens in constant time, so that the time taken does not reveal where the tokens differ.
  package static func areEqual(_ left: some Collection<UInt8>, _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
