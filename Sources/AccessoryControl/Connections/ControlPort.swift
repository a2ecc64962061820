import AccessoryCore
import AccessorySessions
import Glibc
import IAP2
import LinuxIO

/// Listens on a Unix socket or a TCP port for clients. The first line on a connection states the connection's purpose:
///
/// ```
///   control TOKEN     requests, one JSON object per line
///   session TICKET    after this line, one session's bytes in both directions
/// ```
///
/// Each port has one token. Tickets are issued by `session.port`, and each can be used once. A Unix socket needs no
/// token, because the kernel tells the server which user is connecting. On a Unix socket, a connection is for requests
/// if its first line states no purpose.
///
/// A connection that has not yet sent its first line is a newcomer. A port with a token keeps only a few newcomers, and
/// drops the oldest to make room for a new one. A flood of silent connections therefore cannot lock out clients for
/// long.
package final class ControlPort {
  static let mostClients = 1_000
  private static let mostNewcomers = 256
  private static let patience = Duration.seconds(10)

  /// The address on which the port listens, including the port number chosen by the system.
  package let address: Address
  private unowned let server: ControlServer
  private let token: String?
  private let loop: any PollingLoop
  private let warn: (String) -> Void
  private var listener: (any Listener)?
  private var newcomers: [Newcomer] = []
  private var connections: [ObjectIdentifier: StreamConnection] = [:]
  private var warned: Set<String> = []

  /// Starts listening.
  ///
  /// - Parameters:
  ///   - token: the token that clients must send, or nil for a Unix socket.
  ///   - warn: called once for each kind of problem.
  package init(
    _ server: ControlServer, at address: Address, token: String?, _ options: TransportOptions,
    on loop: any PollingLoop, warn: @escaping (String) -> Void
  ) throws {
    (self.server, self.token, self.loop, self.warn) = (server, token, loop, warn)
    var options = options
    // A client that knows the token may connect regardless of which user runs it.
    if token != nil { options.allowsOtherUsers = true }
    var handle: (ListenerEvent) -> Void = { _ in }
    let listener = try Transports.listen(at: address, on: loop, options: options) { handle($0) }
    self.listener = listener
    self.address = listener.address
    handle = { [weak self] in self?.handle($0) }
    server.portAddresses.append(self.address.description)
  }

  /// Listens on a Unix socket with mode 0600, for programs run by the same user.
  package convenience init(
    _ server: ControlServer, path: String, _ options: TransportOptions, on loop: any PollingLoop,
    warn: @escaping (String) -> Void
  ) throws {
    try self.init(server, at: .unix(path: path), token: nil, options, on: loop, warn: warn)
  }

  /// Stops listening, and closes all connections that are used for requests. Connections that carry a session's bytes
  /// stay open until the server ends the sessions.
  package func close() {
    guard let listener else { return }
    listener.close()
    self.listener = nil
    server.portAddresses.removeAll { $0 == address.description }
    for newcomer in newcomers { newcomer.close() }
    newcomers = []
    let open = connections
    connections = [:]
    for connection in open.values { connection.close("easim is exiting") }
  }

  private func handle(_ event: ListenerEvent) {
    switch event {
    case .accepted(let cable, let peer):
      guard let socket = (cable.main as? DescriptorChannel)?.release() else { return }
      let newcomer = Newcomer(socket, peer, needsLine: token != nil)
      if token != nil {
        if newcomers.count >= Self.mostNewcomers { newcomers.removeFirst().close() }
      } else if newcomers.count + connections.count >= Self.mostClients {
        return warnOnce("closed a connection because \(Self.mostClients) are open, which is the limit")
      }
      newcomers.append(newcomer)
      do {
        try newcomer.start(on: loop) { [weak self, weak newcomer] line in
          guard let self, let newcomer else { return }
          newcomers.removeAll { $0 === newcomer }
          admit(newcomer, line)
        }
        guard token != nil, newcomer.isWaiting else { return }
        newcomer.timer = loop.schedule(after: Self.patience) { [weak self, weak newcomer] in
          self?.newcomers.removeAll { $0 === newcomer }
          newcomer?.close()
        }
      } catch {
        newcomers.removeAll { $0 === newcomer }
        warnOnce("a connection could not be served: \(error)")
      }
    case .refused(let peer, let reason): warnOnce(reason, "refused \(peer): \(reason)")
    case .cannotAccept(let error): warnOnce("cannot accept connections now: \(error)")
    case .ended(let error): warn(error.description)
    }
  }

  /// Reports each kind of warning only once, because a client may keep retrying.
  private func warnOnce(_ kind: String, _ text: String? = nil) {
    if warned.insert(kind).inserted { warn(text ?? kind) }
  }

  private func admit(_ newcomer: Newcomer, _ line: FirstLine) {
    switch line {
    case .control(let given):
      if let token, !SecretToken.areEqual(given, Array(token.utf8)) {
        return refuse(
          newcomer,
          RPCError(
            .notAllowed, "the token is wrong", advice: "use the token that easim serve --remote prints after '#'"))
      }
      serve(newcomer)
    case .session(let ticket):
      // Sends no answer, because everything else on the connection belongs to the session.
      guard let port = server.bytePorts.removeValue(forKey: String(decoding: ticket, as: UTF8.self)) else {
        let reason = "its ticket belongs to no session or was already used"
        return warnOnce(reason, "refused \(newcomer.peer): \(reason)")
      }
      port.begin(newcomer.release(), newcomer.rest)
    case .requests: serve(newcomer)
    case .none: break
    case .other:
      refuse(newcomer, RPCError(.request, "the first line must be 'control TOKEN' or 'session TICKET'"))
    }
  }

  private func refuse(_ newcomer: Newcomer, _ error: RPCError) {
    warnOnce(error.message, "refused \(newcomer.peer): \(error.message)")
    newcomer.send(RPCDocument.response(.null, .failure(error)))
  }

  private func serve(_ newcomer: Newcomer) {
    guard connections.count < Self.mostClients else {
      return refuse(newcomer, RPCError(.limit, "\(Self.mostClients) connections are open, which is the limit"))
    }
    let client = server.makeClient()
    client.cameByPort = true
    let id = ObjectIdentifier(client)
    do {
      let stream = try DescriptorStream(takingSocket: newcomer.release(), after: newcomer.rest, on: loop)
      connections[id] = StreamConnection(stream, for: client) { [weak self] in self?.connections[id] = nil }
    } catch {
      client.close("the connection failed")
      warnOnce("a connection could not be served: \(error)")
    }
  }
}

private enum FirstLine {
  case control(token: ArraySlice<UInt8>)
  case session(ticket: ArraySlice<UInt8>)
  /// The connection begins with requests instead of a line that states its purpose.
  case requests
  case other
  /// The connection ended before the first line was complete.
  case none

  init(_ line: ArraySlice<UInt8>) {
    let words = line.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
    switch words.first.map({ String(decoding: $0, as: UTF8.self) }) {
    case "control": self = .control(token: words.count > 1 ? words[1] : [])
    case "session" where words.count > 1: self = .session(ticket: words[1])
    default: self = .other
    }
  }
}

private final class Newcomer: DescriptorHandler {
  private static let longestLine = 256

  let peer: PeerDescription
  private var socket: Int32
  private let needsLine: Bool
  private var watch: (any DescriptorWatch)?
  var timer: LoopTimer?
  private(set) var rest: [UInt8] = []
  private var done: ((FirstLine) -> Void)?
  var isWaiting: Bool { done != nil }

  init(_ socket: Int32, _ peer: PeerDescription, needsLine: Bool) {
    (self.socket, self.peer, self.needsLine) = (socket, peer, needsLine)
  }

  deinit { close() }

  /// Closes the connection. Releasing the newcomer would not be enough, because the loop retains everything that it
  /// watches.
  func close() {
    done = nil
    timer?.cancel()
    watch?.cancel()
    watch = nil
    if socket >= 0 { Glibc.close(socket) }
    socket = -1
  }

  func start(on loop: any PollingLoop, _ done: @escaping (FirstLine) -> Void) throws {
    self.done = done
    // Most clients send their first line immediately.
    descriptorReady(.readable)
    if isWaiting { watch = try loop.watch(socket, for: .readable, self) }
  }

  func descriptorReady(_ readiness: Readiness) {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = recv(socket, &buffer, buffer.count, 0)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0 else { return finish(.none) }
    rest += buffer[0..<count]
    if !needsLine, ![UInt8(ascii: "c"), UInt8(ascii: "s")].contains(rest[0]) { return finish(.requests) }
    if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let line = rest[0..<end]
      rest = Array(rest[(end + 1)...])
      finish(FirstLine(line.last == UInt8(ascii: "\r") ? line.dropLast() : line))
    } else if rest.count > Self.longestLine {
      finish(.other)
    }
  }

  private func finish(_ line: FirstLine) {
    watch?.cancel()
    watch = nil
    timer?.cancel()
    let done = done
    self.done = nil
    done?(line)
  }

  func release() -> Int32 {
    defer { socket = -1 }
    return socket
  }

  /// Sends a final message, and reads what the peer has sent so far. If bytes were left unread, the kernel would reset
  /// the connection, and the message could be lost.
  func send(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.send(socket, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    shutdown(socket, Int32(SHUT_WR))
    var buffer = [UInt8](repeating: 0, count: 4_096)
    _ = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
  }
}

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
    let loop = try owner.world.realLoop(
      for: "a session's own connection needs", advice: "use session.read and session.write")
    (self.owner, self.loop, session, server) = (owner, loop, owner.session, owner.world.server)
    timer = loop.schedule(after: Self.patience) { [weak self] in
      guard let self else { return }
      server.bytePorts[ticket] = nil
      giveBack()
    }
    owner.port = self
    server.bytePorts[ticket] = self
  }

  deinit {
    timer?.cancel()
    relay?.finish()
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
