import AccessoryCore
import AccessorySessions
import IAP2

/// Sends requests over one session, waiting for each reply before it sends the next request. Used by `easim send`, the
/// demo and the apps in scenarios.
public final class Conversation: SessionHandler {
  /// A request and the expected reply.
  public struct Exchange: Equatable, Sendable {
    /// The bytes to send.
    public var request: [UInt8]
    /// The expected reply.
    public var rule: ReplyRule
    fileprivate var isEcho = false
    fileprivate var stream: UniqueStream?

    /// Creates an exchange.
    public init(_ request: [UInt8], _ rule: ReplyRule = ReplyRule()) {
      (self.request, self.rule) = (request, rule)
    }

    /// Creates an exchange whose reply must equal the request. The reply is compared as it arrives and is not kept. If
    /// the request is the beginning of `stream`, the kind of a mistake is known.
    public init(echo request: [UInt8], of stream: UniqueStream? = nil) {
      self.init(request, ReplyRule(.bytes(request)))
      (isEcho, self.stream) = (true, stream)
    }
  }

  /// An event of the conversation.
  public enum Event: Equatable, Sendable {
    case replied(Int, [UInt8])
    /// The conversation is over, and every reply was as expected.
    case done
    /// The reply to the request with this index was not as expected. The conversation stops.
    case different(Int, [UInt8])
    /// An echo was wrong. The conversation stops.
    case wrong(EchoMistake)
    /// Extra bytes arrived after the last reply was complete.
    case excess([UInt8])
    /// The session ended during the request with this index.
    case ended(Int, SessionEnd, [UInt8])
  }

  private let exchanges: [Exchange]
  private let window: Int
  private let settle: Duration
  private let loop: any EventLoop
  /// Set to nil after the last event because the closure usually retains this object.
  private var onEvent: ((Event) -> Void)?
  private var timer: LoopTimer?
  private var current = 0
  private var sent = 0
  /// How the current reply is judged. An echo is still compared while the conversation watches for extra bytes.
  private var collector: ReplyCollector?
  private var echo: EchoVerifier?
  /// Extra bytes that arrived after the last reply, if it must match byte for byte.
  private var rest: [UInt8] = []
  private var settlesAt: Instant?
  private weak var session: Session?

  /// Creates a conversation. `onEvent` is called for each reply, and at the end with the outcome of the conversation.
  ///
  /// - Parameters:
  ///   - window: at most this many bytes are in flight, that is, sent but not yet echoed. Apps that need small writes
  ///     use a small window.
  ///   - settle: how long to watch for extra bytes after the last reply, if that reply must match byte for byte.
  public init(
    _ exchanges: [Exchange], window: Int = .max, settle: Duration = .zero, on loop: any EventLoop,
    onEvent: @escaping (Event) -> Void
  ) {
    self.exchanges = exchanges
    self.window = window
    self.settle = settle
    self.loop = loop
    self.onEvent = onEvent
  }

  deinit { timer?.cancel() }

  /// Starts the conversation on an open session and becomes the session's handler.
  public func start(on session: Session) {
    self.session = session
    session.handler = self
    begin()
    proceed()
  }

  /// The index of the current request, and how many of its bytes have been sent and how many received.
  public var progress: (index: Int, sent: Int, received: Int) {
    (current, sent, echo?.received ?? collector?.reply.count ?? 0)
  }

  /// The reply to the current request so far, unless it is an echo.
  public var reply: [UInt8] { collector?.reply ?? [] }

  /// Sends more bytes, because space has become available.
  public func sessionIsWritable(_ session: Session) {
    send()
    proceed()
  }

  /// Handles bytes that have arrived.
  public func sessionIsReadable(_ session: Session) { proceed() }

  /// Called when the session has ended.
  public func session(_ session: Session, endedWith end: SessionEnd) {
    proceed()
    diagnose()
    guard onEvent != nil else { return }
    guard current < exchanges.count else { return finishSettling() }
    let isLast = current == exchanges.count - 1 && sent == exchanges[current].request.count
    // Many accessories close the session after replying, so the end of the session may complete the reply.
    if isLast, let collector, collector.isCompleteAtTheEnd, collector.isAsExpected {
      conclude()
      return readRest()
    }
    finish(.ended(current, end, reply))
  }

  private func begin() {
    let exchange = exchanges[current]
    sent = 0
    // An accessory may reply before it has received the whole request.
    collector = exchange.isEcho ? nil : ReplyCollector(exchange.rule, since: loop.now)
    echo = exchange.isEcho ? EchoVerifier(exchange.request, of: exchange.stream) : nil
    send()
  }

  private func send() {
    guard onEvent != nil, let session, current < exchanges.count else { return }
    let request = exchanges[current].request
    while case let end = min(request.count, window == .max ? .max : progress.received + window), sent < end {
      let taken = session.write(request.span.bytes.extracting(sent..<end))
      if taken == 0 { return }
      sent += taken
    }
  }

  private func proceed() {
    while onEvent != nil, current < exchanges.count {
      read()
      // Echoed bytes free space in the window, so more bytes can be sent.
      if window < .max, echo?.mistake == nil { send() }
      // A mistake in an echo ends the conversation even if the request has not been sent completely.
      guard echo != nil || sent == exchanges[current].request.count else { return }
      switch echo?.state(now: loop.now) ?? collector?.state(now: loop.now) ?? .complete {
      case .waiting(let deadline): return wait(until: deadline)
      case .complete: conclude()
      }
    }
    readRest()
  }

  private func read() {
    // No reply to the last request is expected, so the accessory's bytes are discarded as they arrive.
    let discards = current == exchanges.count - 1 && exchanges[current].rule.extent == .nothing
    session?.read { bytes in
      echo?.take(bytes, now: loop.now)
      let taken = collector?.take(bytes, now: loop.now)
      return discards ? bytes.byteCount : taken ?? bytes.byteCount
    }
  }

  private func wait(until deadline: Instant?) {
    guard let deadline else { return }
    timer = timer ?? loop.makeTimer { [weak self] in self?.proceed() }
    timer?.arm(at: deadline)
  }

  private func conclude() {
    if let mistake = echo?.mistake { return finish(.wrong(mistake)) }
    if let collector {
      onEvent?(.replied(current, collector.reply))
      guard collector.isAsExpected else { return finish(.different(current, collector.reply)) }
    }
    current += 1
    if current < exchanges.count { begin() } else { finishLast(exchanges[current - 1].rule) }
  }

  /// Called when the last reply is complete. If that reply must match byte for byte, watches for extra bytes.
  private func finishLast(_ rule: ReplyRule) {
    guard case .bytes = rule.expectation else { return finish(.done) }
    settlesAt = session?.isOpen == true ? loop.now + settle : loop.now
  }

  /// Whether all replies are complete and correct and the conversation is only watching for extra bytes.
  public var isSettling: Bool { onEvent != nil && current == exchanges.count && echo?.deadline == nil }

  /// Reads the bytes that arrive after the last reply. They are discarded when the conversation is over.
  private func readRest() {
    session?.read { bytes in
      echo?.take(bytes, now: loop.now)
      if echo == nil, onEvent != nil { bytes.withUnsafeBytes { rest += $0 } }
      return bytes.byteCount
    }
    guard onEvent != nil, let settlesAt else { return }
    if case .waiting(let deadline)? = echo?.state(now: loop.now), deadline != nil { return wait(until: deadline) }
    if let mistake = echo?.mistake { return finish(.wrong(mistake)) }
    if rest.count >= ReplyRule.longest || loop.now >= settlesAt { finishSettling() } else { wait(until: settlesAt) }
  }

  /// Stops watching for extra bytes.
  public func finishSettling() {
    if isSettling { finish(rest.isEmpty ? .done : .excess(rest)) }
  }

  /// Reports a mistake in the echo received so far, if there is one, without waiting for more bytes.
  public func diagnose() {
    echo?.diagnose()
    if let mistake = echo?.mistake { finish(.wrong(mistake)) }
  }

  private func finish(_ event: Event) {
    timer?.cancel()
    guard let told = onEvent else { return }
    onEvent = nil
    told(event)
  }

  /// The last event of a conversation with one echo, as a sentence.
  public func sentence(_ event: Event) -> String {
    let (_, sent, received) = progress
    return switch event {
    case .wrong(let mistake): mistake.description
    case .ended(_, let end, _):
      "the session ended after \(sent) bytes sent and \(received) received: \(end)"
    default: "\(sent) bytes sent, \(received) bytes came back as expected"
    }
  }
}

/// Compares an echo with the request, byte by byte as it arrives, without keeping it.
///
/// The position of the first difference is therefore known. If the request comes from a `UniqueStream`, everything that
/// arrives until no more bytes arrive is then collected, and the kind of mistake is known as well.
struct EchoVerifier {
  /// How long the session must be quiet after a wrong byte before the mistake is diagnosed.
  static let quiet = Duration.milliseconds(500)

  private let expected: [UInt8]
  private var verifier: StreamVerifier?
  private let scratch = UniqueScratch()
  private(set) var received = 0
  private(set) var mistake: EchoMistake?
  /// When to diagnose the bytes after the first wrong one, or nil if all bytes were correct.
  private(set) var deadline: Instant?

  init(_ expected: [UInt8], of stream: UniqueStream?) {
    self.expected = expected
    verifier = stream.map(StreamVerifier.init)
  }

  mutating func take(_ bytes: RawSpan, now: Instant) {
    guard mistake == nil else { return }
    let rest = min(bytes.byteCount, max(0, expected.count - received))
    defer { received += bytes.byteCount }
    guard verifier != nil else { return compare(bytes, rest) }
    if verifier?.check(bytes.extracting(0..<rest), scratch) == true, rest == bytes.byteCount { return }
    // Any byte that follows a complete echo is wrong.
    verifier?.collect(bytes.extracting(rest..<bytes.byteCount))
    if verifier?.isFull == true { diagnose() } else { deadline = now + Self.quiet }
  }

  private mutating func compare(_ bytes: RawSpan, _ rest: Int) {
    for offset in 0..<rest {
      let (got, place) = (bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self), received + offset)
      guard got != expected[place] else { continue }
      let window = Hex.spaced(expected[max(0, place - 4)..<min(expected.count, place + 5)])
      mistake = .different(at: place, expected: expected[place], got: got, window: window)
      return
    }
    if rest < bytes.byteCount {
      mistake = .excess(received: received + bytes.byteCount, expected: expected.count)
    }
  }

  /// Turns the wrong bytes that have been collected, if there are any, into a mistake.
  mutating func diagnose() {
    guard let findings = verifier?.conclude(), !findings.isEmpty else { return }
    mistake = .wrong(findings)
  }

  mutating func state(now: Instant) -> ReplyCollector.State {
    if let deadline, now >= deadline { diagnose() }
    if mistake != nil { return .complete }
    return deadline == nil && received == expected.count ? .complete : .waiting(deadline)
  }
}

/// How an echo differs from the request.
public enum EchoMistake: Equatable, Sendable, CustomStringConvertible {
  /// The echo differs from the stream that was sent. The associated findings describe the difference.
  case wrong([StreamFinding])
  /// The echo differs at this position.
  case different(at: Int, expected: UInt8, got: UInt8, window: String)
  /// More bytes arrived than expected.
  case excess(received: Int, expected: Int)

  /// The mistake as a sentence.
  public var description: String {
    switch self {
    case .wrong(let findings): findings.text()
    case .different(let place, let expected, let got, let window):
      "byte \(place) is \(Hex.plain([got])) instead of \(Hex.plain([expected])); expected around it: \(window)"
    case .excess(let received, let expected):
      "\(received) bytes came back, but only \(expected) were expected"
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
