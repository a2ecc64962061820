import AccessoryCore
import AccessorySessions
import IAP2

/// Sends requests over one session, waiting for each reply before it sends the next request. Used by `easim send`.
public final class Conversation: SessionHandler {
  /// A request and the expected reply.
  public struct Exchange: Equatable, Sendable {
    /// The bytes to send.
    public var request: [UInt8]
    /// The expected reply.
    public var rule: ReplyRule

    /// Creates an exchange.
    public init(_ request: [UInt8], _ rule: ReplyRule = ReplyRule()) {
      (self.request, self.rule) = (request, rule)
    }
  }

  /// An event of the conversation.
  public enum Event: Equatable, Sendable {
    case replied(Int, [UInt8])
    /// The conversation is over, and every reply was as expected.
    case done
    /// The reply to the request with this index was not as expected. The conversation stops.
    case different(Int, [UInt8])
    /// Extra bytes arrived after the last reply was complete.
    case excess([UInt8])
    /// The session ended during the request with this index.
    case ended(Int, SessionEnd, [UInt8])
  }

  private let exchanges: [Exchange]
  private let settle: Duration
  private let loop: any EventLoop
  /// Set to nil after the last event because the closure usually retains this object.
  private var onEvent: ((Event) -> Void)?
  private var timer: LoopTimer?
  private var current = 0
  private var sent = 0
  private var collector: ReplyCollector?
  /// Extra bytes that arrived after the last reply, if it must match byte for byte.
  private var rest: [UInt8] = []
  private weak var session: Session?

  /// Creates a conversation. `onEvent` is called for each reply, and at the end with the outcome of the conversation.
  ///
  /// - Parameter settle: how long to watch for extra bytes after the last reply, if that reply must match byte for
  ///   byte.
  public init(
    _ exchanges: [Exchange], settle: Duration = .zero, on loop: any EventLoop, onEvent: @escaping (Event) -> Void
  ) {
    self.exchanges = exchanges
    self.settle = settle
    self.loop = loop
    self.onEvent = onEvent
  }

  deinit { timer?.cancel() }

  /// Starts the conversation on an open session and becomes the session's handler.
  public func start(on session: Session) {
    self.session = session
    session.handler = self
    proceed()
  }

  /// The index of the current request, how many of its bytes have been sent, and the reply so far.
  public var progress: (index: Int, sent: Int, reply: [UInt8]) { (current, sent, collector?.reply ?? []) }

  /// Sends more bytes, because space has become available.
  public func sessionIsWritable(_ session: Session) { proceed() }

  /// Handles bytes that have arrived.
  public func sessionIsReadable(_ session: Session) { proceed() }

  /// Called when the session has ended.
  public func session(_ session: Session, endedWith end: SessionEnd) {
    proceed()
    guard onEvent != nil else { return }
    guard current < exchanges.count else { return finishSettling() }
    let exchange = exchanges[current]
    let isLast = current == exchanges.count - 1 && sent == exchange.request.count
    // Many accessories close the session after replying, so the end of the session may complete the reply.
    if isLast, let collector, collector.isCompleteAtTheEnd, collector.isAsExpected { return conclude(collector) }
    finish(.ended(current, end, collector?.reply ?? []))
  }

  private func proceed() {
    if isSettling { return readRest() }
    while onEvent != nil, let session, current < exchanges.count {
      send(session)
      read(session)
      guard let collector, sent == exchanges[current].request.count else { return }
      switch collector.state(now: loop.now) {
      case .waiting(let deadline): return wait(until: deadline)
      case .complete: conclude(collector)
      }
    }
  }

  private func send(_ session: Session) {
    let request = exchanges[current].request
    while sent < request.count {
      let taken = session.write(request.span.bytes.extracting(sent..<request.count))
      if taken == 0 { break }
      sent += taken
    }
    // An accessory may reply before it has received the whole request.
    if collector == nil { collector = ReplyCollector(exchanges[current].rule, since: loop.now) }
  }

  private func read(_ session: Session) {
    session.read { bytes in collector?.take(bytes, now: loop.now) ?? 0 }
  }

  private func wait(until deadline: Instant?) {
    guard let deadline else { return }
    timer = timer ?? loop.makeTimer { [weak self] in self?.proceed() }
    timer?.arm(at: deadline)
  }

  private func conclude(_ done: ReplyCollector) {
    let index = current
    onEvent?(.replied(index, done.reply))
    guard done.isAsExpected else { return finish(.different(index, done.reply)) }
    current += 1
    sent = 0
    collector = nil
    if current == exchanges.count { finishLast(exchanges[index].rule) }
  }

  /// Called when the last reply is complete. If that reply must match byte for byte, watches for extra bytes.
  private func finishLast(_ rule: ReplyRule) {
    guard case .bytes = rule.expectation else { return finish(.done) }
    readRest()
    if settle == .zero || session?.isOpen != true { return finishSettling() }
    timer?.cancel()
    timer = loop.schedule(after: settle) { [weak self] in self?.finishSettling() }
  }

  /// Whether all replies are complete and correct and the conversation is only watching for extra bytes.
  public var isSettling: Bool { onEvent != nil && current == exchanges.count }

  private func readRest() {
    session?.read { bytes in
      bytes.withUnsafeBytes { rest += $0 }
      return bytes.byteCount
    }
    if rest.count >= ReplyRule.longest { finishSettling() }
  }

  /// Stops watching for extra bytes.
  public func finishSettling() {
    if isSettling { finish(rest.isEmpty ? .done : .excess(rest)) }
  }

  private func finish(_ event: Event) {
    timer?.cancel()
    guard let told = onEvent else { return }
    onEvent = nil
    told(event)
  }
}
