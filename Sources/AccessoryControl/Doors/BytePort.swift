import AccessoryCables
import AccessoryCore
import AccessorySessions
import Glibc
import IAP2
import LinuxIO

/// A socket that carries the bytes of one session at full speed, in both directions.
///
/// ```
///   listening ──first line is the token──▶ a ``SessionRelay`` moves the bytes
///       │ 30 s
///       ▼
///     closed
/// ```
final class BytePort: SessionHandler {
  private static let patience = Duration.seconds(30)
  private static let lingering = Duration.seconds(2)
  private static let longestToken = 128

  let address: String
  let token: String
  private unowned let owner: ControlledSession
  private let session: Session
  private let loop: any PollingLoop
  private var listener: (any Listener)?
  private var timer: LoopTimer?
  private var candidates: [Candidate] = []
  /// Moves the bytes, once a connection has sent the token.
  private var relay: SessionRelay?

  static func open(for owner: ControlledSession, unixPath: String?) throws(RPCError) -> BytePort {
    guard owner.world.virtual == nil, let loop = owner.world.server.loop as? any PollingLoop else {
      throw RPCError(
        .time, "the world '\(owner.world.id)' has virtual time, but a byte port needs real time",
        advice: "use session.read and session.write")
    }
    do {
      let place = unixPath.map { Address.unix(path: $0) } ?? .tcp(host: "127.0.0.1", port: 0)
      let port = Box()
      var options = owner.world.server.settings.transport
      options.allowsRemote = false
      let listener = try Transports.listen(at: place, on: loop, options: options) { event in
        if case .accepted(let cable, _) = event { port.port?.accepted(cable) }
      }
      let made = BytePort(listener, for: owner, on: loop)
      port.port = made
      owner.port = made
      return made
    } catch { throw RPCError(.address, "\(error)") }
  }

  private final class Box {
    weak var port: BytePort?
  }

  private init(_ listener: any Listener, for owner: ControlledSession, on loop: any PollingLoop) {
    self.listener = listener
    self.owner = owner
    self.loop = loop
    session = owner.session
    address = listener.address.description
    token = SecretToken.make()
    timer = loop.schedule(after: Self.patience) { [weak self] in self?.stopListening() }
  }

  deinit {
    listener?.close()
    timer?.cancel()
    relay?.finish()
  }

  // MARK: Listening

  private func accepted(_ cable: Cable) {
    guard candidates.count < 8, let number = (cable.main as? DescriptorChannel)?.release() else { return }
    let candidate = Candidate(number, limit: Self.longestToken)
    candidates.append(candidate)
    do {
      try candidate.start(on: loop) { [weak self, weak candidate] line, rest in
        guard let self, let candidate else { return }
        candidates.removeAll { $0 === candidate }
        if let line, listener != nil, SecretToken.areEqual(line, Array(token.utf8)) {
          begin(candidate.release(), rest)
        } else {
          candidate.refuse()
        }
      }
    } catch { candidates.removeAll { $0 === candidate } }
  }

  /// No connection came in time, or the session is over: requests move its bytes again.
  private func stopListening() {
    closeListener()
    if relay == nil, owner.port === self {
      owner.port = nil
      owner.sessionIsReadable(session)
    }
  }

  private func closeListener() {
    listener?.close()
    listener = nil
    candidates = []
    timer?.cancel()
  }

  private func begin(_ socket: Int32, _ rest: [UInt8]) {
    closeListener()
    do {
      let stream = try DescriptorStream(takingSocket: socket, after: rest, on: loop)
      let relay = SessionRelay(
        stream, linger: Self.lingering, whenReaderLeaves: .finishInput(whileWaiting: false), on: loop,
        closingReason: Self.reason(of:)
      ) { relay, _ in relay.finish() }
      self.relay = relay
      relay.attach(session, isHandler: false)
    } catch { session.close("the byte port failed: \(error)") }
  }

  private static func reason(of ending: SessionRelay.Ending) -> String {
    if case .failed(let reason) = ending { "the byte port failed: \(reason)" } else { "the byte port was closed" }
  }

  // MARK: SessionHandler

  func sessionIsReadable(_ session: Session) { relay?.sessionIsReadable(session) }

  func sessionIsWritable(_ session: Session) { relay?.sessionIsWritable(session) }

  func session(_ session: Session, endedWith end: SessionEnd) {
    stopListening()
    relay?.session(session, endedWith: end)
  }
}

/// A connection that has not sent its token yet.
private final class Candidate: DescriptorHandler {
  private var descriptor: Int32
  private let limit: Int
  private var watch: (any DescriptorWatch)?
  private var read: [UInt8] = []
  private var done: (([UInt8]?, [UInt8]) -> Void)?

  init(_ descriptor: Int32, limit: Int) {
    self.descriptor = descriptor
    self.limit = limit
  }

  deinit {
    watch?.cancel()
    if descriptor >= 0 { Glibc.close(descriptor) }
  }

  /// `done` gets the first line, nil when there is none, and what came behind it.
  func start(on loop: any PollingLoop, _ done: @escaping ([UInt8]?, [UInt8]) -> Void) throws {
    self.done = done
    watch = try loop.watch(descriptor, for: .readable, self)
  }

  func descriptorReady(_ readiness: Readiness) {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0 else { return finish(nil, []) }
    read += buffer[0..<count]
    if let end = read.firstIndex(of: UInt8(ascii: "\n")) {
      var line = read[0..<end]
      if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
      finish(Array(line), Array(read[(end + 1)...]))
    } else if read.count > limit {
      finish(nil, [])
    }
  }

  private func finish(_ line: [UInt8]?, _ rest: [UInt8]) {
    watch?.cancel()
    watch = nil
    let done = done
    self.done = nil
    done?(line, rest)
  }

  func release() -> Int32 {
    defer { descriptor = -1 }
    return descriptor
  }

  func refuse() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }
}

/// Tokens that cannot be guessed.
public enum SecretToken {
  /// 32 hexadecimal digits from the kernel's randomness.
  public static func make() -> String {
    var random = SystemRandomNumberGenerator()
    let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    return Hex.plain(bytes)
  }

  /// Compares in a time that does not depend on where they differ.
  public static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
