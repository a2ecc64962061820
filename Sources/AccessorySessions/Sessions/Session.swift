import AccessoryCore
import IAP2

/// An External Accessory session, which is a two-way byte stream, on either side of the cable.
///
/// To the session's user, it makes no difference whether the link or a native channel of the cable carries the bytes.
///
/// ```swift
/// session.write(bytes.span.bytes)                       // takes what fits now
/// session.read { span in handle(span); return span.byteCount }
/// ```
public final class Session {
  /// The number that the device gave to the session, or 0 on a native channel.
  public let id: UInt16
  /// The protocol for which the session was opened.
  public let protocolName: String
  // For speed, exclusivity is not checked: a session belongs to one loop and calls no other code while these properties
  // change, and a reader has exclusive use of the buffer.
  /// Receives the session's events; the session retains its handler until the session ends.
  @exclusivity(unchecked) public var handler: (any SessionHandler)?
  /// The reason the session ended, or nil while it is open.
  @exclusivity(unchecked) public private(set) var end: SessionEnd?
  /// The reason this side gave for closing the session, if any.
  public private(set) var closingReason: String?
  /// Observes the bytes that were accepted for sending, for quirks that repeat them later.
  @exclusivity(unchecked) public var writeObserver: ((RawSpan) -> Void)?
  /// The filter that every byte passes through between the session's user and the link, or nil if there is none.
  @exclusivity(unchecked) package var filter: (any SessionFilter)?
  /// The number of bytes that were read from the session.
  @exclusivity(unchecked) public private(set) var bytesRead = 0
  /// The number of bytes that the session accepted for sending.
  @exclusivity(unchecked) public private(set) var bytesWritten = 0

  private var unacknowledgedAtEnd = 0
  /// Whether calls to the handler are held back, as for a suspended app. When this becomes false, the missed events are
  /// reported.
  @exclusivity(unchecked) public var isHeld = false {
    didSet { if oldValue, !isHeld { notifyHeld() } }
  }
  /// Called when an event is held back; the argument is true if the event reports that bytes have arrived.
  public var onHeld: ((_ isBytes: Bool) -> Void)?
  @exclusivity(unchecked) private var held = Held()

  /// Whether the handler is notified only once about bytes that stay unread. Some systems have been seen to notify apps
  /// only once (field failure W7, the event that never came).
  @exclusivity(unchecked) public var announcesBytesOnce = false
  @exclusivity(unchecked) private var hasAnnouncedBytes = false

  private unowned let carrier: any SessionCarrier
  @exclusivity(unchecked) private var buffer = ByteQueue()
  /// Takes the buffer's memory when everything has been read; nil if the buffer keeps its memory.
  private let spares: SpareBuffers?

  init(id: UInt16, protocolName: String, carrier: any SessionCarrier) {
    self.id = id
    self.protocolName = protocolName
    self.carrier = carrier
    spares = carrier.spares
    hasAcknowledgements = carrier.hasAcknowledgements
  }

  /// Whether the other side acknowledges what it receives. On a native channel, there are no acknowledgements, and
  /// ``unacknowledged`` counts the bytes that have not been sent to the other side.
  public let hasAcknowledgements: Bool

  /// Whether bytes can be written.
  public var isOpen: Bool { end == nil }

  /// The number of written bytes that the other side has not acknowledged, or had not acknowledged when the session
  /// ended.
  public var unacknowledged: Int { isOpen ? carrier.unacknowledged(self) : unacknowledgedAtEnd }

  /// Called with the bytes that are read on this side, or nil if nothing observes the bytes.
  @exclusivity(unchecked) public var witness: ((RawSpan) -> Void)?

  /// Offers all unread bytes to `body`, which returns how many it used. Bytes that were not used are offered again
  /// later. After the session has ended, bytes received earlier can still be read. Returns how many bytes were read.
  @discardableResult
  public func read(_ body: (RawSpan) -> Int) -> Int {
    if filter != nil {
      filterInput()
    } else if buffer.isEmpty, isOpen {
      buffer.refill { carrier.takeInbox(of: self, &$0) }
    }
    if buffer.isEmpty { return 0 }
    let isConsumed = filter != nil
    // The buffer is moved out during the call, because `body` may write to this session.
    var lent = ByteQueue()
    swap(&lent, &buffer)
    let count =
      witness.map { witness in
        lent.consume { bytes in
          let count = body(bytes)
          witness(bytes.extracting(0..<count))
          return count
        }
      } ?? lent.consume(body)
    swap(&lent, &buffer)
    // Bytes that arrived during the call are appended to the bytes that `body` did not use.
    if !lent.isEmpty { lent.withBytes { buffer.append($0) } }
    if buffer.isEmpty, let spares { buffer.refill { spares.collect(&$0) } }
    bytesRead += count
    if isOpen, !isConsumed { carrier.consume(count, of: self) }
    return count
  }

  /// Writes as much of `bytes` as there is room for, and returns how many bytes were written. After a partial write,
  /// the handler is notified when there is room again.
  @discardableResult
  public func write(_ bytes: RawSpan) -> Int {
    guard isOpen, bytes.byteCount > 0 else { return 0 }
    if let filter { return filter.write(bytes, on: self) }
    return send(bytes)
  }

  /// Writes without passing the bytes through the filter.
  @discardableResult
  package func send(_ bytes: RawSpan) -> Int {
    guard isOpen, bytes.byteCount > 0 else { return 0 }
    let taken = carrier.write(bytes, to: self)
    bytesWritten += taken
    if taken > 0 { writeObserver?(bytes.extracting(0..<taken)) }
    return taken
  }

  /// Closes the session from this side. Everything written is still sent, and the handler is notified when the session
  /// has ended. The reason appears only in this side's timeline, because no message carries it.
  public func close(_ reason: String? = nil) {
    guard isOpen else { return }
    closingReason = reason
    filter?.willClose(self)
    carrier.close(self)
  }

  // MARK: The filter

  /// Passes received bytes to the filter. From the other side's point of view, bytes passed to the filter have been
  /// read, so more may arrive.
  private func filterInput() {
    guard isOpen, let filter, buffer.isEmpty || filter.isEager else { return }
    var bytes: [UInt8] = []
    carrier.takeInbox(of: self, &bytes)
    guard !bytes.isEmpty else { return }
    filter.receive(bytes, on: self)
    if isOpen { carrier.consume(bytes.count, of: self) }
  }

  /// Appends bytes to the session user's unread bytes. If you call this method outside
  /// ``SessionFilter/receive(_:on:)``, notify the user with ``notifyReadable()``.
  package func pass(_ bytes: [UInt8]) { buffer.append(contentsOf: bytes) }

  /// Whether the session's user has read everything that was passed on.
  package var isReadToTheEnd: Bool { buffer.isEmpty }

  /// Notifies the session's user that there are bytes to read.
  package func notifyReadable() { if !buffer.isEmpty { handler?.sessionIsReadable(self) } }

  /// Notifies the session's user that there is room to write.
  package func notifyWritable() { if isOpen { handler?.sessionIsWritable(self) } }

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

  /// Ends the session. `rest` contains bytes that arrived before the end and have not been delivered.
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
    notifyEnd()
  }

  private func notifyEnd() {
    guard let end else { return }
    let last = handler
    handler = nil
    onHeld = nil
    last?.session(self, endedWith: end)
  }

  // MARK: Holding back

  private struct Held {
    var isReadable = false
    var isWritable = false
    var isOver = false
  }

  private func hold(_ what: WritableKeyPath<Held, Bool>, isBytes: Bool) {
    held[keyPath: what] = true
    onHeld?(isBytes)
  }

  private func notifyHeld() {
    let missed = held
    held = Held()
    if missed.isReadable { becameReadable() }
    if missed.isWritable, isOpen { becameWritable() }
    // The handler's events may be held back again by now.
    guard missed.isOver else { return }
    if isHeld { held.isOver = true } else { notifyEnd() }
  }
}

/// Receives a session's events, on the session's loop.
public protocol SessionHandler: AnyObject {
  /// Called when bytes have arrived, and again only after they have been read.
  func sessionIsReadable(_ session: Session)
  /// Called when there is room again after a partial write.
  func sessionIsWritable(_ session: Session)
  /// Called when the session has ended; bytes that arrived before the end can still be read.
  func session(_ session: Session, endedWith end: SessionEnd)
}

protocol SessionCarrier: AnyObject {
  var hasAcknowledgements: Bool { get }
  /// Where the carrier's inboxes borrow their memory; nil if they keep it.
  var spares: SpareBuffers? { get }
  func write(_ bytes: RawSpan, to session: Session) -> Int
  func takeInbox(of session: Session, _ buffer: inout [UInt8])
  func consume(_ count: Int, of session: Session)
  func close(_ session: Session)
  func unacknowledged(_ session: Session) -> Int
}

/// A filter between a session and its user on this side, for accessories that handle bytes in unusual ways. A filter
/// sees every byte in both directions, and may drop, delay or split the data.
///
/// ```
///   user ── write ──▶ filter.write ──▶ session.send ──▶ carrier
///   user ◀── read ─── session.pass ◀── filter.receive ◀── carrier
/// ```
package protocol SessionFilter: AnyObject {
  /// Whether the filter accepts bytes as soon as they arrive, even if the user has not read earlier ones.
  var isEager: Bool { get }
  /// Handles a write by the user, and returns how many bytes were accepted. After a partial write, call
  /// ``Session/notifyWritable()`` once there is room.
  func write(_ bytes: RawSpan, on session: Session) -> Int
  /// Handles received bytes, and passes what the user should read to ``Session/pass(_:)``.
  func receive(_ bytes: [UInt8], on session: Session)
  /// Called when there is room to send again.
  func hasRoom(on session: Session)
  /// Called when this side is about to close the session; bytes that the filter holds can still be sent.
  func willClose(_ session: Session)
  /// Called with the reason when the session has ended; this is the last call.
  func session(_ session: Session, over end: SessionEnd)
}

/// Reads and discards everything that arrives over a session.
package final class Discarder: SessionHandler {
  private let ended: () -> Void

  /// Creates a handler that calls `ended` when the session has ended.
  package init(_ ended: @escaping () -> Void = {}) {
    self.ended = ended
  }

  /// Reads and discards received bytes.
  package func sessionIsReadable(_ session: Session) { session.read { $0.byteCount } }
  /// Has no effect, because a discarder never writes.
  package func sessionIsWritable(_ session: Session) {}
  /// Calls the closure, because the session has ended.
  package func session(_ session: Session, endedWith end: SessionEnd) { ended() }
}
