import AccessoryCore
import IAP2

/// One External Accessory session: a two-way byte stream, on either side of the cable.
///
/// The user of a session need not know how its bytes travel: over the link or over a native channel of the cable.
///
/// ```swift
/// session.write(bytes.span.bytes)                       // takes what fits now
/// session.read { span in handle(span); return span.byteCount }
/// ```
public final class Session {
  /// The number the device gave it; 0 on a native channel.
  public let id: UInt16
  /// The protocol it was opened for.
  public let protocolName: String
  // Exclusivity is not checked, as in all code on the path of a burst: a session belongs to one loop and calls no one
  // while these change; a reader has the buffer to itself.
  /// Receives the session's events. Held until the end.
  @exclusivity(unchecked) public var handler: (any SessionHandler)?
  /// Why it is over; nil while it is open.
  @exclusivity(unchecked) public private(set) var end: SessionEnd?
  /// Why this end closed it, where a reason was given.
  public private(set) var closingReason: String?
  /// Sees the bytes that were taken to send; for quirks that repeat them later.
  @exclusivity(unchecked) public var writeObserver: ((RawSpan) -> Void)?
  /// What every byte passes on its way from and to the user; nil for nothing.
  @exclusivity(unchecked) package var filter: (any SessionFilter)?
  /// Bytes that were read from it.
  @exclusivity(unchecked) public private(set) var bytesRead = 0
  /// Bytes that it took to send.
  @exclusivity(unchecked) public private(set) var bytesWritten = 0

  private var unacknowledgedAtEnd = 0
  /// While it is set, the handler is not called; what it missed is reported when it is reset. For the handler of a
  /// suspended app.
  public var isHeld = false {
    didSet { if oldValue, !isHeld { tellHeld() } }
  }
  /// Called when events are held back; the argument is true for bytes.
  public var onHeld: ((_ isBytes: Bool) -> Void)?
  private var held = Held()

  /// Whether bytes are announced to its handler once and never again: what some systems were seen to do (field
  /// failure W7, the event that never came). They can be read all the same.
  @exclusivity(unchecked) public var announcesBytesOnce = false
  @exclusivity(unchecked) private var hasAnnouncedBytes = false

  private unowned let carrier: any SessionCarrier
  /// Received bytes that were not read yet.
  @exclusivity(unchecked) private var buffer = ByteQueue()

  init(id: UInt16, protocolName: String, carrier: any SessionCarrier) {
    self.id = id
    self.protocolName = protocolName
    self.carrier = carrier
    hasAcknowledgements = carrier.hasAcknowledgements
  }

  /// Whether the other end acknowledges what it gets, which comes as something received; a native channel does not, and
  /// ``unacknowledged`` is then what has not left for the other end.
  public let hasAcknowledgements: Bool

  /// Whether bytes can be written.
  public var isOpen: Bool { end == nil }

  /// Bytes written that the other end has not acknowledged; once the session is over, as it was at the end.
  public var unacknowledged: Int { isOpen ? carrier.unacknowledged(self) : unacknowledgedAtEnd }

  /// Offers everything unread to `body`, which returns how many bytes it has used; the rest is offered again. Bytes
  /// received before the end can be read after it. Returns how many bytes were read.
  @discardableResult
  public func read(_ body: (RawSpan) -> Int) -> Int {
    if filter != nil {
      filterInput()
    } else if buffer.isEmpty, isOpen {
      buffer.refill { carrier.takeInbox(of: self, &$0) }
    }
    if buffer.isEmpty { return 0 }
    let isConsumed = filter != nil
    // Moved out for the call, because the body may write to this very session.
    var lent = ByteQueue()
    swap(&lent, &buffer)
    let count = lent.consume(body)
    swap(&lent, &buffer)
    // What arrived during the call comes after what it left.
    if !lent.isEmpty { lent.withBytes { buffer.append($0) } }
    bytesRead += count
    if isOpen, !isConsumed { carrier.consume(count, of: self) }
    return count
  }

  /// Writes as much of `bytes` as there is room for and returns how much. After a partial write the handler is
  /// notified when there is room again.
  @discardableResult
  public func write(_ bytes: RawSpan) -> Int {
    guard isOpen, bytes.byteCount > 0 else { return 0 }
    if let filter { return filter.write(bytes, on: self) }
    return send(bytes)
  }

  /// Writes past the filter.
  @discardableResult
  package func send(_ bytes: RawSpan) -> Int {
    guard isOpen, bytes.byteCount > 0 else { return 0 }
    let taken = carrier.write(bytes, to: self)
    bytesWritten += taken
    if taken > 0 { writeObserver?(bytes.extracting(0..<taken)) }
    return taken
  }

  /// Closes the session from this end. What was written is still sent, and the handler is notified of the end. The
  /// reason appears only on this end's timeline, because no message carries one.
  public func close(_ reason: String? = nil) {
    guard isOpen else { return }
    closingReason = reason
    filter?.willClose(self)
    carrier.close(self)
  }

  // MARK: The filter

  /// Lets the filter see what arrived. It counts as read for the other end: what the user has not read of it is bounded by
  /// what arrives before this is called again.
  private func filterInput() {
    guard isOpen, let filter, buffer.isEmpty || filter.isEager else { return }
    var bytes: [UInt8] = []
    carrier.takeInbox(of: self, &bytes)
    guard !bytes.isEmpty else { return }
    filter.receive(bytes, on: self)
    if isOpen { carrier.consume(bytes.count, of: self) }
  }

  /// Gives bytes to the user, to be read after those that wait. Outside of ``SessionFilter/receive(_:on:)`` the user must
  /// be notified by ``tellReadable()``.
  package func pass(_ bytes: [UInt8]) { buffer.append(contentsOf: bytes) }

  /// Whether the user has read everything that was passed.
  package var isReadToTheEnd: Bool { buffer.isEmpty }

  /// Notifies the user of bytes.
  package func tellReadable() { if !buffer.isEmpty { handler?.sessionIsReadable(self) } }

  /// Notifies the user of room.
  package func tellWritable() { if isOpen { handler?.sessionIsWritable(self) } }

  // MARK: From the carrier

  func becameReadable() {
    if filter != nil {
      filterInput()
      if buffer.isEmpty { return }
    }
    if isHeld { return hold(\.isReadable, isBytes: true) }
    if announcesBytesOnce, hasAnnouncedBytes { return }
    hasAnnouncedBytes = true
    handler?.sessionIsReadable(self)
  }

  func becameWritable() {
    if let filter { return filter.hasRoom(on: self) }
    if isHeld { return hold(\.isWritable, isBytes: false) }
    handler?.sessionIsWritable(self)
  }

  /// The session is over; `rest` arrived before that and was not handed over.
  func finish(_ end: SessionEnd, rest: [UInt8]) {
    guard isOpen else { return }
    unacknowledgedAtEnd = carrier.unacknowledged(self)
    self.end = end
    let filter = filter
    if !rest.isEmpty {
      if let filter { filter.receive(rest, on: self) } else { buffer.append(contentsOf: rest) }
      becameReadable()
    }
    self.filter = nil
    filter?.session(self, over: end)
    if isHeld { return hold(\.isOver, isBytes: false) }
    tellEnd()
  }

  private func tellEnd() {
    guard let end else { return }
    let last = handler
    handler = nil
    onHeld = nil
    last?.session(self, endedWith: end)
  }

  // MARK: Holding back

  /// Events that were held back from the handler.
  private struct Held {
    var isReadable = false
    var isWritable = false
    var isOver = false
  }

  private func hold(_ what: WritableKeyPath<Held, Bool>, isBytes: Bool) {
    held[keyPath: what] = true
    onHeld?(isBytes)
  }

  private func tellHeld() {
    let missed = held
    held = Held()
    if missed.isReadable { becameReadable() }
    if missed.isWritable, isOpen { becameWritable() }
    // The handler may have had it held again.
    guard missed.isOver else { return }
    if isHeld { held.isOver = true } else { tellEnd() }
  }
}

/// What a session reports to, on its loop.
public protocol SessionHandler: AnyObject {
  /// Bytes arrived. Called again only after they were read.
  func sessionIsReadable(_ session: Session)
  /// There is room again after a short write.
  func sessionIsWritable(_ session: Session)
  /// The session is over. What had arrived can still be read.
  func session(_ session: Session, endedWith end: SessionEnd)
}

/// What carries sessions: a connection's link, or a native channel.
protocol SessionCarrier: AnyObject {
  var hasAcknowledgements: Bool { get }
  func write(_ bytes: RawSpan, to session: Session) -> Int
  func takeInbox(of session: Session, _ buffer: inout [UInt8])
  func consume(_ count: Int, of session: Session)
  func close(_ session: Session)
  func unacknowledged(_ session: Session) -> Int
}

/// What stands between a session and its user at this end, for accessories that treat bytes oddly. It sees every byte in
/// both directions, and may drop, delay and cut up what passes.
///
/// ```
///   user ── write ──▶ filter.write ──▶ session.send ──▶ carrier
///   user ◀── read ─── session.pass ◀── filter.receive ◀── carrier
/// ```
package protocol SessionFilter: AnyObject {
  /// Whether it takes what arrives at once, even while the user has not read what it got before.
  var isEager: Bool { get }
  /// The user writes. Returns how many bytes are taken; when that is not all, ``Session/tellWritable()`` must follow.
  func write(_ bytes: RawSpan, on session: Session) -> Int
  /// Bytes arrived. What the user is to read goes to ``Session/pass(_:)``.
  func receive(_ bytes: [UInt8], on session: Session)
  /// There is room to send again.
  func hasRoom(on session: Session)
  /// This end is about to close the session: what is kept can still be sent.
  func willClose(_ session: Session)
  /// The session is over, and why. Nothing more is called.
  func session(_ session: Session, over end: SessionEnd)
}

/// Reads whatever comes over a session, and discards it.
package final class Discarder: SessionHandler {
  private let ended: () -> Void

  /// A handler that calls `ended` when the session is over.
  package init(_ ended: @escaping () -> Void = {}) {
    self.ended = ended
  }

  /// Bytes arrived.
  package func sessionIsReadable(_ session: Session) { session.read { $0.byteCount } }
  /// There is room; nothing is written.
  package func sessionIsWritable(_ session: Session) {}
  /// The session is over.
  package func session(_ session: Session, endedWith end: SessionEnd) { ended() }
}
