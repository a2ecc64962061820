import AccessoryCables
import AccessoryCore
import AccessorySessions
import AccessoryTransports
import Glibc
import IAP2

/// A socket that carries the bytes of one session at full speed, in both directions.
///
/// ```
///   listening ──first line is the token──▶ moving ──session over──▶ rest is sent, then closed
///       │ 30 s                                │ end of input: the session closes when nothing has come for 2 s
///       ▼                                     │ hang-up: the session closes
///     closed
/// ```
///
/// While the session has no room the socket is not read, and while the socket has no room the session is not read.
final class BytePort: SessionHandler, DescriptorHandler {
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
  private var descriptor: Int32 = -1
  private var watch: (any DescriptorWatch)?
  private var toSession = ByteQueue()
  private var inputEnded = false
  private var socketIsFull = false

  static func open(for owner: ControlledSession, unixPath: String?) throws(RPCError) -> BytePort {
    guard owner.world.virtual == nil, let loop = owner.world.server.loop as? any PollingLoop else {
      throw RPCError(
        .time, "the world '\(owner.world.id)' has virtual time, and a byte port needs real time",
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
    watch?.cancel()
    if descriptor >= 0 { Glibc.close(descriptor) }
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

  /// Nobody came: requests move the bytes again.
  private func stopListening() {
    listener?.close()
    listener = nil
    candidates = []
    timer?.cancel()
    if descriptor < 0, owner.port === self {
      owner.port = nil
      owner.sessionIsReadable(session)
    }
  }

  private func begin(_ number: Int32, _ rest: [UInt8]) {
    descriptor = number
    listener?.close()
    listener = nil
    candidates = []
    timer?.cancel()
    do { watch = try loop.watch(number, for: .readable, self) } catch { return lose("\(error)") }
    if !rest.isEmpty { toSession.append(contentsOf: rest) }
    pushToSession()
    sessionIsReadable(session)
    if !session.isOpen { finishSending() }
  }

  // MARK: The socket

  func descriptorReady(_ readiness: Readiness) {
    if readiness.contains(.writable) {
      socketIsFull = false
      sessionIsReadable(session)
    }
    if descriptor >= 0, readiness.contains(.readable), toSession.isEmpty, !inputEnded { readSocket() }
    if descriptor >= 0, readiness.contains(.hangup), toSession.isEmpty {
      if inputEnded { return lose("the byte port was closed") }
      readSocket()
    }
    settle()
  }

  private func readSocket() {
    let count = loop.withReadBuffer { buffer -> Int in
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 {
        let bytes = RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: buffer[0..<count]))
        let taken = session.write(bytes)
        if taken < count { toSession.append(bytes.extracting(taken..<count)) }
      }
      return count
    }
    if count == 0 {
      inputEnded = true
      linger()
    } else if count < 0, errno != EAGAIN, errno != EINTR {
      lose("the byte port failed: \(String(cString: strerror(errno)))")
    }
  }

  private func pushToSession() {
    if !toSession.isEmpty, session.isOpen { toSession.consume { session.write($0) } }
    settle()
  }

  /// The session closes when nothing has come for a while.
  private func linger() {
    guard inputEnded, session.isOpen else { return }
    timer?.cancel()
    timer = loop.schedule(after: Self.lingering) { [weak self] in
      guard let self else { return }
      if toSession.isEmpty, session.unacknowledged == 0 { session.close("the byte port was closed") } else { linger() }
    }
  }

  private func settle() {
    guard descriptor >= 0 else { return }
    var interest: Readiness = []
    if toSession.isEmpty, !inputEnded, session.isOpen { interest.insert(.readable) }
    if socketIsFull { interest.insert(.writable) }
    watch?.change(to: interest)
  }

  private func lose(_ reason: String) {
    closeSocket()
    session.close(reason)
  }

  private func closeSocket() {
    watch?.cancel()
    watch = nil
    timer?.cancel()
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
    toSession.removeAll()
  }

  // MARK: SessionHandler

  func sessionIsReadable(_ session: Session) {
    guard descriptor >= 0, !socketIsFull else { return }
    var failure: Int32 = 0
    while !socketIsFull {
      let count = session.read { bytes in
        let sent = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if sent < 0, errno != EAGAIN, errno != EINTR { failure = errno }
        socketIsFull = sent < bytes.byteCount
        return max(0, sent)
      }
      if count == 0 { break }
      if inputEnded { linger() }
    }
    if failure != 0 { return lose("the byte port was closed") }
    if !session.isOpen, !socketIsFull { return finishSending() }
    settle()
  }

  func sessionIsWritable(_ session: Session) { pushToSession() }

  func session(_ session: Session, endedWith end: SessionEnd) {
    stopListening()
    sessionIsReadable(session)
    if descriptor >= 0, !socketIsFull { finishSending() }
  }

  /// All was sent; the other end reads the end of the stream.
  private func finishSending() {
    guard descriptor >= 0 else { return }
    let number = descriptor
    watch?.cancel()
    watch = nil
    timer?.cancel()
    descriptor = -1
    _ = ClosingSocket(number, on: loop, atMost: .seconds(2))
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
