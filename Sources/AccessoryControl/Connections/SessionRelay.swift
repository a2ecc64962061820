import AccessoryCore
import AccessorySessions
import IAP2

/// Connects a ``Session`` to a ``ByteStream``, and forwards bytes in both directions.
///
/// ```
///   waiting ──attach──▶ relaying ──the session ends──▶ emptying ──all written──▶ waiting (or finish)
///                          │ input ended, all acknowledged, quiet for `linger` ──▶ closes the session ──▶ emptying
///                          └ output broke ──────────────────────────────────────▶ closes the session ──▶ emptying
/// ```
///
/// - Back-pressure in both directions: the stream is read as fast as the session accepts bytes, and the session is read
///   as fast as the stream accepts them. The relay itself buffers nothing.
/// - A session has no half-close. After the input ends, the session stays open for answers until everything is
///   acknowledged and nothing has arrived for a while.
package final class SessionRelay: SessionHandler, ByteStreamHandler {
  package enum Ending: Equatable {
    case inputEnded
    case readerLeft
    case failed(String)
    /// The session ended, but neither this side nor its input was the cause.
    case session(SessionEnd)
  }

  package struct Counts: Equatable {
    /// The number of bytes that the session accepted for sending.
    package var sent = 0
    /// The number of bytes that arrived over the session.
    package var received = 0
    /// The number of accepted bytes that the other side had not acknowledged when the session ended.
    package var lost = 0
  }

  /// What happens when the reader of the output disconnects.
  package enum WhenReaderLeaves {
    /// The session is closed, because once the next program in a pipeline has exited, no more output is needed.
    case close
    /// The session continues until the input ends, because a socket's client may have disconnected after sending its
    /// last bytes. If there is no session, the relay waits for one if `whileWaiting` is set; otherwise, the relay ends.
    case finishInput(whileWaiting: Bool)
  }

  /// The interval at which the relay checks for unacknowledged bytes after the input has ended.
  private static let tick = Duration.milliseconds(10)

  package private(set) var counts = Counts()
  /// The session, or nil while the relay is waiting for one.
  package private(set) var session: Session?
  /// Whether the input has ended and a session has accepted all of it.
  package private(set) var inputIsOver = false
  /// The number of bytes that have been read from the stream but not accepted by any session.
  package var unsent: Int { stream.unread }

  private let stream: any ByteStream
  private let loop: any EventLoop
  private let linger: Duration
  private let whenReaderLeaves: WhenReaderLeaves
  private let closingReason: (Ending) -> String?
  private let ended: (SessionRelay, Ending) -> Void
  private var isOutputBroken = false
  /// The reason why this side is closing the session, or nil if it is not closing the session.
  private var reason: Ending?
  /// The reason the session ended, kept while its last bytes wait for the output.
  private var ending: Ending?
  private var quietSince = Instant.origin
  private var timer: LoopTimer?
  private var whenFinished: (() -> Void)?

  /// Creates a relay without a session.
  ///
  /// - Parameters:
  ///   - linger: how long the session must be quiet after the input has ended before it is closed.
  ///   - closingReason: the reason that this side's timeline shows when the relay closes the session.
  ///   - ended: called after each session, when the output has accepted the session's last byte; also called once,
  ///     without a session, if the stream breaks while there is none.
  package init(
    _ stream: any ByteStream, linger: Duration, whenReaderLeaves: WhenReaderLeaves, on loop: any EventLoop,
    closingReason: @escaping (Ending) -> String? = { _ in nil }, ended: @escaping (SessionRelay, Ending) -> Void
  ) {
    self.stream = stream
    self.loop = loop
    self.linger = linger
    self.whenReaderLeaves = whenReaderLeaves
    self.closingReason = closingReason
    self.ended = ended
    timer = loop.makeTimer { [unowned self] in lookWhetherQuiet() }
    stream.start(self)
  }

  deinit { timer?.cancel() }

  /// Takes over a session, and becomes its handler unless another handler forwards the session's events to the relay.
  package func attach(_ session: Session, isHandler: Bool = true) {
    precondition(self.session == nil, "a relay can have only one session at a time")
    self.session = session
    if isHandler { session.handler = self }
    quietSince = loop.now
    stream.resumeReading()
    sessionIsReadable(session)
    if let end = session.end { return self.session(session, endedWith: end) }
    if inputIsOver { timer?.arm(at: loop.now) }
  }

  package func close(_ reason: String? = nil) { session?.close(reason) }

  /// Ends the output and releases the stream. `done` is called when everything has been written.
  package func finish(_ done: @escaping () -> Void = {}) {
    guard whenFinished == nil else { return }
    stream.pauseReading()
    whenFinished = done
    if isOutputBroken { streamOutputEnded(stream) } else { stream.endOutput() }
  }

  // MARK: The session

  package func sessionIsReadable(_ session: Session) {
    quietSince = loop.now
    while case let count = session.read({ isOutputBroken ? $0.byteCount : stream.send($0) }), count > 0 {
      counts.received += count
    }
  }

  package func sessionIsWritable(_ session: Session) { stream.resumeReading() }

  package func session(_ session: Session, endedWith end: SessionEnd) {
    stream.pauseReading()
    timer?.cancel()
    counts.lost += session.unacknowledged
    ending = reason ?? .session(end)
    reason = nil
    empty()
  }

  private func empty() {
    guard let session, let ending else { return }
    sessionIsReadable(session)
    var isEmpty = true
    session.read { _ in
      isEmpty = false
      return 0
    }
    guard isEmpty else { return }
    self.session = nil
    self.ending = nil
    ended(self, ending)
  }

  // MARK: The stream

  package func stream(_ stream: any ByteStream, received bytes: RawSpan) -> Int {
    guard let session, session.isOpen else { return 0 }
    let taken = session.write(bytes)
    counts.sent += taken
    return taken
  }

  package func streamIsWritable(_ stream: any ByteStream) {
    guard let session else { return }
    if session.isOpen { sessionIsReadable(session) } else { empty() }
  }

  package func stream(_ stream: any ByteStream, inputEndedBecause reason: String?) {
    if let reason { return conclude(.failed("reading failed: \(reason)")) }
    inputIsOver = true
    if isOutputBroken, session == nil { return conclude(.readerLeft) }
    lookWhetherQuiet()
  }

  package func stream(_ stream: any ByteStream, outputBrokeBecause reason: String?) {
    guard !isOutputBroken else { return }
    isOutputBroken = true
    if whenFinished != nil { return streamOutputEnded(stream) }
    if let reason { return conclude(.failed("writing failed: \(reason)")) }
    switch whenReaderLeaves {
    case .finishInput(whileWaiting: true) where session == nil: return
    case .finishInput where session != nil && !inputIsOver: break
    case .close, .finishInput: return conclude(.readerLeft)
    }
    // Bytes that arrive from now on are dropped, so that the session can continue.
    if let session { sessionIsReadable(session) }
    empty()
  }

  package func streamOutputEnded(_ stream: any ByteStream) {
    let done = whenFinished
    whenFinished = {}
    stream.close()
    done?()
  }

  /// Closes the session from this side. If there is no session, reports the end immediately.
  private func conclude(_ ending: Ending) {
    guard let session else { return ended(self, ending) }
    if !session.isOpen {
      if case .failed = ending { self.ending = ending }
      return empty()
    }
    reason = ending
    session.close(closingReason(ending))
  }

  private func lookWhetherQuiet() {
    guard inputIsOver, let session, session.isOpen else { return }
    let isBusy = session.unacknowledged > 0 || stream.unread > 0
    if isBusy {
      quietSince = loop.now
      timer?.arm(at: loop.now + Self.tick)
    } else if loop.now < quietSince + linger, !isOutputBroken {
      timer?.arm(at: quietSince + linger)
    } else {
      conclude(isOutputBroken ? .readerLeft : .inputEnded)
    }
  }
}
