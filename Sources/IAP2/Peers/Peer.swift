/// One end of the protocol as its owner sees it: bytes and time go in, bytes and events come out.
///
/// After every call the owner drains, in this order: ``nextEvent()`` until nil, ``transmit(atMost:now:_:)``
/// until false, then looks at ``deadline``. `AccessorySessions.Connection` is the owner everywhere but in tests.
public protocol Peer: ~Copyable {
  /// The parts both roles share.
  var core: PeerCore { get set }

  /// Begins: the accessory with detection, the device by listening.
  mutating func start(now: Instant)

  /// Bytes arrived.
  mutating func receive(_ bytes: RawSpan, now: Instant)

  /// The time of ``deadline`` has come.
  mutating func handleTimeout(now: Instant)

  /// When ``handleTimeout(now:)`` wants to be called; nil while nothing is due.
  var deadline: Instant? { get }

  /// Closes an open session from this side.
  mutating func closeSession(_ id: UInt16)

  /// The channel is gone: every session ends with `reason`, and nothing is waited for any more.
  mutating func stop(_ reason: String)

  // What follows every peer does as the core does it. Requirements all the same: a generic owner then calls it directly,
  // not through an accessor for the core, and some of it is called for every packet.

  /// The next thing to tell.
  mutating func nextEvent() -> PeerEvent?

  /// Shows what is to be sent now, as one run of whole packets, to `body`, which sends or copies it; false when there is
  /// nothing to send. The run has at least one packet, and gets no longer once it has `limit` bytes.
  ///
  /// What was shown counts as sent: `body` keeps what it cannot send at once. It must not call the peer.
  mutating func transmit(atMost limit: Int, now: Instant, _ body: (RawSpan) -> Void) -> Bool

  /// Appends the next packet to `bytes`; false when there is nothing to send now. For tests and whoever wants packets
  /// one at a time.
  mutating func nextTransmit(into bytes: inout [UInt8], now: Instant) -> Bool

  /// Sends as much of `bytes` as the session's bound allows and returns how much that was. After a short write
  /// ``PeerEvent/sessionWritable(_:)`` tells when there is room.
  mutating func write(_ bytes: RawSpan, to session: UInt16) -> Int

  /// Hands over what arrived for a session, for an empty buffer. Bytes count as unread until
  /// ``consume(_:of:)``.
  mutating func takeInbox(_ session: UInt16, _ buffer: inout [UInt8])

  /// The reader is done with `count` bytes of a session.
  mutating func consume(_ count: Int, of session: UInt16)

  /// Bytes of a session that the other end has not acknowledged.
  func unacknowledged(_ session: UInt16) -> Int
}

extension Peer where Self: ~Copyable {
  /// The next thing to tell.
  @inlinable
  public mutating func nextEvent() -> PeerEvent? {
    core.events.isEmpty ? nil : core.events.next()
  }

  /// Shows what is to be sent now.
  public mutating func transmit(atMost limit: Int, now: Instant, _ body: (RawSpan) -> Void) -> Bool {
    core.transmit(atMost: limit, now: now, body)
  }

  /// Sends as much of `bytes` as the session's bound allows.
  public mutating func write(_ bytes: RawSpan, to session: UInt16) -> Int {
    core.write(bytes, to: session)
  }

  /// Hands over what arrived for a session.
  public mutating func takeInbox(_ session: UInt16, _ buffer: inout [UInt8]) {
    core.sessions.exchange(session, &buffer)
  }

  /// The reader is done with `count` bytes of a session.
  public mutating func consume(_ count: Int, of session: UInt16) {
    core.consume(count, of: session)
  }

  /// Bytes of a session that the other end has not acknowledged.
  public func unacknowledged(_ session: UInt16) -> Int {
    core.link.unacknowledged(externalAccessory: session)
  }

  /// Appends the next packet to `bytes`.
  public mutating func nextTransmit(into bytes: inout [UInt8], now: Instant) -> Bool {
    transmit(atMost: 1, now: now) { run in run.withUnsafeBytes { bytes.append(contentsOf: $0) } }
  }

  /// Whether a session is open.
  public func isOpen(_ session: UInt16) -> Bool {
    core.sessions.isOpen(session)
  }

  /// Sends a control message of the owner's making.
  public mutating func send(_ message: ControlMessage) {
    core.send(message)
  }

  /// What the link has done.
  public var counters: LinkCounters { core.link.counters }

  /// Whether the link is up.
  public var isLinkUp: Bool { core.link.isEstablished }

  /// Tells the event that `read` makes of a message; one that cannot be read is told as malformed.
  mutating func tell(_ message: ControlMessage, _ read: (ControlMessage) throws(ParameterError) -> PeerEvent?) {
    do throws(ParameterError) {
      core.events.append(try read(message) ?? .message(message))
    } catch {
      core.events.append(.malformed("\(message.id): \(error)"))
    }
  }

  /// Reads the session number and whatever else `read` wants from a message; a message that cannot be read is told as
  /// malformed, and nil returned.
  mutating func decode<Value>(
    _ message: ControlMessage, _ read: ([Parameter]) throws(ParameterError) -> Value
  ) -> Value? {
    do throws(ParameterError) {
      return try read(try ParameterReader.read(message.body))
    } catch {
      core.events.append(.malformed("\(message.id): \(error)"))
      return nil
    }
  }
}
