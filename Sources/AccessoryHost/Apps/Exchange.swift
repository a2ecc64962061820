import AccessoryCore
import AccessorySessions
import IAP2

/// Sends bytes over a session and checks the reply. Used by `easim send` and the demo.
///
/// An echo is compared byte by byte as it arrives, so the position of the first difference is known. If the bytes come
/// from a `UniqueStream`, the exchange then collects everything until no more bytes arrive, and also reports the kind
/// of mistake.
public final class Exchange: SessionHandler {
  /// The expected reply.
  public enum Expectation: Equatable, Sendable {
    /// No reply is expected. The exchange is complete when all bytes have been acknowledged.
    case none
    /// The reply must equal the bytes that were sent.
    case echo
  }

  /// The result of an exchange.
  public enum Outcome: Equatable, Sendable {
    case verified(sent: Int, received: Int)
    /// The reply differs from the stream that was sent. The associated findings describe the difference.
    case wrong([StreamFinding])
    /// The reply differs at this position.
    case different(at: Int, expected: UInt8, got: UInt8, window: String)
    /// More bytes arrived than expected.
    case excess(received: Int, expected: Int)
    /// The session ended before the complete reply had arrived.
    case ended(SessionEnd, sent: Int, received: Int)
  }

  private let payload: [UInt8]
  private let expected: [UInt8]
  private let expectation: Expectation
  private let window: Int
  /// Set to nil when called because the closure usually retains this object.
  private var done: ((Outcome) -> Void)?
  private var sent = 0
  private var received = 0
  private var verifier: StreamVerifier?
  private let scratch = UniqueScratch()
  private var quietTimer: LoopTimer?
  private var loop: (any EventLoop)?
  private let settle: Duration
  private var settleTimer: LoopTimer?

  /// Sends `payload`. Calls `done` exactly once. At most `window` bytes are in flight, that is, sent but not yet
  /// echoed. Tests that need small writes use a small window.
  ///
  /// - Parameters:
  ///   - settle: how long to watch for extra bytes after the last expected byte. This requires `loop`.
  public init(
    _ payload: [UInt8], expecting expectation: Expectation, window: Int = .max, settle: Duration = .zero,
    on loop: (any EventLoop)? = nil, done: @escaping (Outcome) -> Void
  ) {
    self.payload = payload
    (self.settle, self.loop) = (settle, loop)
    self.window = window
    self.expectation = expectation
    switch expectation {
    case .none: expected = []
    case .echo: expected = payload
    }
    self.done = done
  }

  /// How long the session must be quiet after a wrong byte before the mistake is diagnosed.
  static let quiet = Duration.milliseconds(500)

  /// Creates an exchange that sends the first `count` bytes of a stream and classifies any mistake in the echo.
  public convenience init(
    _ stream: UniqueStream, count: Int, expecting expectation: Expectation, settle: Duration = .zero,
    on loop: any EventLoop, done: @escaping (Outcome) -> Void
  ) {
    self.init(stream.bytes(0..<count), expecting: expectation, settle: settle, on: loop, done: done)
    if expectation == .echo { verifier = StreamVerifier(stream) }
  }

  deinit {
    quietTimer?.cancel()
    settleTimer?.cancel()
  }

  /// Starts the exchange on an open session and becomes the session's handler.
  public func start(on session: Session) {
    session.handler = self
    send(session)
    sessionIsReadable(session)
  }

  /// The number of bytes sent and received, as shown when an exchange times out.
  public var progress: (sent: Int, received: Int) { (sent, received) }

  private func send(_ session: Session) {
    let payload = payload
    while case let end = payload.count - received > window ? received + window : payload.count, sent < end {
      let taken = session.write(payload.span.bytes.extracting(sent..<end))
      if taken == 0 { return }
      sent += taken
    }
    finishIfComplete()
  }

  private func finishIfComplete() {
    guard sent == payload.count, received == expected.count, settleTimer == nil else { return }
    guard expectation != .none, settle > .zero, let loop else { return finishSettling() }
    settleTimer = loop.schedule(after: settle) { [weak self] in self?.finishSettling() }
  }

  /// Whether the reply is complete and correct and the exchange is only watching for extra bytes.
  public var isSettling: Bool { done != nil && settleTimer != nil && received == expected.count }

  /// Stops watching for extra bytes.
  public func finishSettling() {
    if sent == payload.count, received == expected.count { finish(.verified(sent: sent, received: received)) }
  }

  private func finish(_ outcome: Outcome) {
    quietTimer?.cancel()
    settleTimer?.cancel()
    guard let told = done else { return }
    done = nil
    told(outcome)
  }

  /// Compares the bytes that have arrived with the expected reply.
  public func sessionIsReadable(_ session: Session) {
    session.read { bytes in
      if expectation != .none, done != nil { compare(bytes) }
      return bytes.byteCount
    }
    // Echoed bytes free space in the window, so more bytes can be sent.
    if done != nil, window < .max, sent < payload.count { send(session) }
  }

  /// Reports a mistake in the bytes received so far, if there is one, without waiting for more bytes.
  public func conclude() {
    guard let findings = verifier?.conclude(), !findings.isEmpty else { return }
    finish(.wrong(findings))
  }

  private func check(_ bytes: RawSpan) {
    let rest = min(bytes.byteCount, max(0, expected.count - received))
    received += bytes.byteCount
    if verifier?.check(bytes.extracting(0..<rest), scratch) == true, rest == bytes.byteCount {
      return finishIfComplete()
    }
    // Any byte that follows a complete echo is wrong.
    verifier?.collect(bytes.extracting(rest..<bytes.byteCount))
    if verifier?.isFull == true { return conclude() }
    quietTimer = quietTimer ?? loop?.makeTimer { [weak self] in self?.conclude() }
    if let loop { quietTimer?.arm(at: loop.now + Self.quiet) }
  }

  private func compare(_ bytes: RawSpan) {
    if verifier != nil { return check(bytes) }
    for offset in 0..<min(bytes.byteCount, expected.count - received) {
      let got = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      if got != expected[received + offset] {
        return finish(different(at: received + offset, got: got))
      }
    }
    received += bytes.byteCount
    if received > expected.count {
      finish(.excess(received: received, expected: expected.count))
    } else {
      finishIfComplete()
    }
  }

  private func different(at place: Int, got: UInt8) -> Outcome {
    let start = max(0, place - 4)
    let window = Hex.spaced(expected[start..<min(expected.count, place + 5)])
    return .different(at: place, expected: expected[place], got: got, window: window)
  }

  /// Sends more bytes, because space has become available.
  public func sessionIsWritable(_ session: Session) {
    send(session)
  }

  /// Called when the session has ended.
  public func session(_ session: Session, endedWith end: SessionEnd) {
    sessionIsReadable(session)
    conclude()
    // Accessories may close the session after replying, and many do.
    if isSettling { finishSettling() }
    finish(.ended(end, sent: sent, received: received))
  }
}

extension Exchange.Outcome {
  /// Whether everything was as expected.
  public var isVerified: Bool {
    if case .verified = self { return true }
    return false
  }
}

extension Exchange.Outcome: CustomStringConvertible {
  /// The outcome as a sentence.
  public var description: String {
    switch self {
    case .verified(let sent, let received):
      received == 0 ? "\(sent) bytes sent" : "\(sent) bytes sent, \(received) bytes came back as expected"
    case .wrong(let findings): findings.text()
    case .different(let place, let expected, let got, let window):
      "byte \(place) is \(Hex.plain([got])) instead of \(Hex.plain([expected])); expected around it: \(window)"
    case .excess(let received, let expected):
      "\(received) bytes came back, but only \(expected) were expected"
    case .ended(let end, let sent, let received):
      "the session ended after \(sent) bytes sent and \(received) received: \(end)"
    }
  }
}

/// The pattern that EADemo's "Send 10K" sends: 10,000 bytes that repeatedly count from 0 to 255.
public enum CountingPattern {
  /// Returns the first `count` bytes of the pattern.
  public static func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0) }
  }
}
