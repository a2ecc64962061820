/// The parts that both roles share: the scanner, the link, the control stream, the sessions, and the owner's events.
/// The core does not interpret messages. `advance(_:at:now:)` returns complete control messages one at a time, in the
/// same order as session data, so that a session is already open when data follows the message that opens it.
public struct PeerCore: ~Copyable {
  var link: Link
  var sessions = SessionTable()
  @usableFromInline var events = EventQueue()
  @usableFromInline var scanner: PacketScanner
  /// Whether every control message is reported as a ``PeerEvent/passed(_:)`` event.
  public var reportsMessages = false
  /// The messages from the other end that are always reported as events.
  public var heardMessages: Set<MessageID> = []
  var control = ControlStream()
  /// If acknowledgements are withheld because of a full session, the time at which that session became full.
  private var holdingSince: Instant?
  /// The time at which room for writes became available, or nil once an immediate timeout has notified the waiting
  /// writers.
  private var roomSince: Instant?
  /// The deadline after which the incomplete packet counts as truncated; `pieceCount` is the number of bytes that had
  /// arrived when the deadline was set.
  @usableFromInline private(set) var pieceDeadline: Instant?
  private var pieceCount = 0
  /// The deadline for the accessory's answer to the device, or nil if no answer is expected.
  var answerDeadline: Instant?
  var controlSession: UInt8?
  private var externalAccessorySession: UInt8?
  var fileSession: UInt8?

  init(role: Link.Role, settings: LinkSettings) {
    link = Link(role: role, settings: settings)
    scanner = PacketScanner(maximumLength: max(settings.parameters.maximumPacketLength, 128))
  }

  // MARK: For the owner

  /// Starts the peer: the accessory sends the detection sequence, and the device listens.
  public mutating func start(now: Instant) {
    link.start(now: now)
  }

  /// Lets inboxes and packets borrow their memory. Whoever takes an inbox should then return the memory.
  public mutating func borrow(from spares: SpareBuffers) {
    sessions.spares = spares
    link.borrow(from: spares)
  }

  /// Removes the next event from the queue.
  @inlinable
  public mutating func nextEvent() -> PeerEvent? {
    events.isEmpty ? nil : events.next()
  }

  /// Frees memory that earlier messages needed and that is now unused. Owners call this method when a connection is
  /// likely to become idle; later traffic allocates memory again.
  public mutating func releaseMemory() {
    events.releaseMemory()
    control.releaseMemory()
    link.releaseMemory()
  }

  /// Whether the link is up.
  public var isLinkUp: Bool { link.isEstablished }

  /// The link's counters.
  public var counters: LinkCounters { link.counters }

  /// Reports bytes outside packets without waiting for the next packet. An owner calls this method before giving up.
  public mutating func reportSkippedBytes() {
    if let skipped = scanner.finish() { events.append(.skipped(skipped)) }
  }

  // MARK: In

  /// Stores the bytes and returns true if they cannot complete a piece. Otherwise returns false, and the caller must
  /// process the bytes in full, which also restarts the timeout of an incomplete packet.
  @inlinable
  mutating func takes(_ bytes: RawSpan) -> Bool {
    (bytes.byteCount == 1 || pieceDeadline == nil) && scanner.keeps(bytes)
  }

  mutating func endDelivery(now: Instant) {
    announceRoom()
    if let timeout = link.settings.interByteTimeout { limitPiece(now: now, timeout) }
  }

  private mutating func limitPiece(now: Instant, _ timeout: Milliseconds) {
    pieceCount = scanner.heldCount
    pieceDeadline = pieceCount > 0 ? now + timeout : nil
  }

  /// Drops the start of a truncated packet, so that the bytes after it can be processed again. Returns false if no
  /// packet was truncated.
  mutating func dropsCutPiece(now: Instant) -> Bool {
    guard let due = pieceDeadline, due <= now, let timeout = link.settings.interByteTimeout else { return false }
    // Bytes that arrive one at a time do not restart the timer when they are stored, so the timer is restarted here.
    if scanner.heldCount > pieceCount {
      limitPiece(now: now, timeout)
      return false
    }
    pieceDeadline = nil
    scanner.abandonPiece()
    return true
  }

  /// Processes `bytes` from `offset` until a control message is complete or all bytes are used.
  mutating func advance(_ bytes: RawSpan, at offset: inout Int, now: Instant) -> ControlMessage? {
    while true {
      if !control.isEmpty, let message = nextMessage() { return message }
      if link.keepsPackets, let (session, payload) = link.takeSuccessor(now: now) {
        deliver(payload.span.bytes, to: session, now: now)
        continue
      }
      guard let piece = scanner.next(in: bytes, at: &offset) else { return nil }
      switch piece {
      case .packet(let header, .input(let range)): handle(header, packet: bytes.extracting(range), now: now)
      case .packet(let header, let place):
        withBytes(at: place, of: bytes) { core, packet in core.handle(header, packet: packet, now: now) }
      case .spoiled(let header, let place):
        withBytes(at: place, of: bytes) { core, packet in core.handleSpoiled(header, packet) }
      case .detection: react(link.handleDetection(now: now))
      case .legacy(let place): withBytes(at: place, of: bytes) { core, frame in core.handleLegacy(frame) }
      case .skipped(let skipped):
        link.counters.skippedBytes += skipped.count
        events.append(.skipped(skipped))
      }
    }
  }

  private mutating func handleLegacy(_ frame: RawSpan) {
    let reaction = link.handleLegacy(frame)
    react(reaction)
    if reaction == .nothing { events.append(.legacyFrame(frame.withUnsafeBytes { [UInt8]($0) })) }
  }

  private mutating func handleSpoiled(_ header: PacketHeader, _ packet: RawSpan) {
    link.handleSpoiled()
    guard link.isZeroAcknowledgement else { return }
    // Without acknowledgements, this was the only copy of the packet. On any other link, the other end would retransmit
    // the packet.
    let end = min(packet.byteCount - 1, PacketHeader.size + 32)
    let shown = packet.withUnsafeBytes { [UInt8]($0[PacketHeader.size..<max(PacketHeader.size, end)]) }
    events.append(
      .malformed(
        "a packet of \(header.payloadCount) bytes for link session \(header.session) has a wrong checksum, and this "
          + "link does not retransmit packets: \(Hex.spaced(shown))"))
  }

  /// Passes a piece's bytes to `body`, which may change everything except the bytes that the scanner carries over.
  private mutating func withBytes(
    at place: PacketScanner.Place, of input: RawSpan, _ body: (inout PeerCore, RawSpan) -> Void
  ) {
    switch place {
    case .input(let range): body(&self, input.extracting(range))
    case .carry(let range):
      let carry = scanner.lendCarry()
      carry.with(range) { body(&self, $0) }
      scanner.returnCarry(carry)
    }
  }

  private mutating func handle(_ header: PacketHeader, packet: RawSpan, now: Instant) {
    let payload = packet.extracting(PacketHeader.size..<PacketHeader.size + header.payloadCount)
    let reaction = link.handle(header, payload: payload, hasRoom: hasRoom(header, payload), now: now)
    if !header.control.isDisjoint(with: [.syn, .rst, .slp]) { reportTolerated(header.control) }
    switch reaction {
    case .nothing: return
    case .deliver(let session): deliver(payload, to: session, now: now)
    case .established:
      react(reaction)
      // The packet that completes a handshake may already carry data.
      if payload.byteCount > 0, !header.control.contains(.syn) { handle(header, packet: packet, now: now) }
    case .down: react(reaction)
    }
  }

  private mutating func reportTolerated(_ control: ControlBits) {
    if !link.adjustments.isEmpty {
      events.append(.synchronizationAdjusted(link.adjustments))
      link.adjustments = []
    } else if link.role == .device, !control.contains(.syn) {
      events.append(.strayEnd(control.contains(.rst) ? .reset : .asleep))
    }
  }

  mutating func react(_ reaction: Link.Reaction) {
    switch reaction {
    case .established(let agreement):
      controlSession = agreement.session(.control)
      externalAccessorySession = agreement.session(.externalAccessory)
      fileSession = agreement.session(.fileTransfer)
      control.forget()
      holdingSince = nil
      events.append(.linkUp(agreement))
    case .down(let end):
      leaveLink(.linkDown(end))
      events.append(.linkDown(end))
    case .nothing, .deliver: break
    }
  }

  /// Cleans up after a link has ended: ends its sessions for the reason `end`, and blocks sending until the next link
  /// is established.
  private mutating func leaveLink(_ end: SessionEnd) {
    endAllSessions(end)
    controlSession = nil
    externalAccessorySession = nil
    fileSession = nil
    control.forget()
    holdingSince = nil
    roomSince = nil
    answerDeadline = nil
  }

  /// Ends the link with a reset, which only a device may do.
  mutating func resetLink(now: Instant) {
    leaveLink(.linkDown(.reset))
    link.reset(now: now)
  }

  // MARK: Sessions

  var carriesSessions: Bool { externalAccessorySession != nil }

  /// How many unread bytes a session may have before its packets are dropped instead of merely left unacknowledged.
  private var hardBound: Int { 2 * link.settings.sessionReceiveBound }

  /// Returns the External Accessory session that `payload` belongs to, or nil for other payloads.
  private func sessionID(_ session: UInt8, _ payload: RawSpan) -> UInt16? {
    guard session == externalAccessorySession, payload.byteCount >= 2 else { return nil }
    return UInt16(payload.unsafeLoad(fromByteOffset: 0, as: UInt8.self)) << 8
      | UInt16(payload.unsafeLoad(fromByteOffset: 1, as: UInt8.self))
  }

  // This method is mutating only to avoid a call on a copy; see ``nextDeadline()``.
  private mutating func hasRoom(_ header: PacketHeader, _ payload: RawSpan) -> Bool {
    guard link.isHoldingAcknowledgements, let id = sessionID(header.session, payload),
      let index = sessions.index(of: id)
    else { return true }
    return sessions.entries[index].unread < hardBound
  }

  private mutating func deliver(_ payload: RawSpan, to session: UInt8, now: Instant) {
    if session == externalAccessorySession {
      deliverData(payload, now: now)
    } else if session == controlSession {
      control.append(payload)
    } else if session == fileSession {
      events.append(.fileTransfer(payload.withUnsafeBytes { [UInt8]($0) }))
    } else {
      let shown = payload.withUnsafeBytes { Hex.spaced($0.prefix(32)) }
      events.append(
        .malformed("\(payload.byteCount) bytes arrived for link session \(session), which was not declared: \(shown)"))
    }
  }

  private mutating func deliverData(_ payload: RawSpan, now: Instant) {
    guard let link = externalAccessorySession, let id = sessionID(link, payload) else {
      let bytes = payload.withUnsafeBytes { [UInt8]($0) }
      events.append(
        .malformed("External Accessory data must begin with a session number of 2 bytes: \(Hex.spaced(bytes))"))
      return
    }
    let data = payload.extracting(2..<payload.byteCount)
    guard let index = sessions.index(of: id) else {
      events.append(.strayData(session: id, bytes: data.byteCount))
      return
    }
    if data.byteCount > 0, sessions.deliver(data, at: index) { events.append(.sessionReadable(id)) }
    if sessions.entries[index].unread >= self.link.settings.sessionReceiveBound { sessionIsFull(index, now: now) }
  }

  private mutating func sessionIsFull(_ index: Int, now: Instant) {
    sessions.noteFull(at: index, now: now)
    if holdingSince == nil {
      holdingSince = now
      if !link.isZeroAcknowledgement { link.holdAcknowledgements() }
    }
  }

  /// Whether reading from the cable must pause until a full session has been read. On a link without acknowledgements,
  /// pausing is the only way to slow down the other end.
  public var wantsCablePaused: Bool {
    // Mutating, because the compiler would copy the core for a call that does not mutate it.
    mutating get { holdingSince != nil && link.isZeroAcknowledgement }
  }

  /// Records that a session's reader has processed `count` bytes.
  public mutating func consume(_ count: Int, of id: UInt16) {
    sessions.consume(count, of: id, bound: link.settings.sessionReceiveBound)
    releaseIfPossible()
  }

  /// Acknowledges everything received so far if the session that caused acknowledgements to be withheld is no longer
  /// full. If another session is full, acknowledgements are withheld again from then on, and the other end starts
  /// counting retransmissions from zero.
  private mutating func releaseIfPossible() {
    guard holdingSince != nil, sessions.fullSince != holdingSince else { return }
    holdingSince = sessions.fullSince
    if link.isZeroAcknowledgement { return }
    link.releaseAcknowledgements()
    if holdingSince != nil { link.holdAcknowledgements() }
  }

  /// Returns true if a session is open.
  public func isOpen(_ session: UInt16) -> Bool {
    sessions.isOpen(session)
  }

  /// Swaps a session's received bytes with an empty buffer. The received bytes count as unread until ``consume(_:of:)``
  /// is called.
  public mutating func takeInbox(_ session: UInt16, _ buffer: inout [UInt8]) {
    sessions.takeInbox(session, &buffer)
  }

  /// Returns the number of a session's bytes that the other end has not acknowledged.
  public func unacknowledged(_ session: UInt16) -> Int {
    link.unacknowledged(externalAccessory: session)
  }

  /// Sends as much of `bytes` as the session's limit allows, and returns how many bytes were sent. After a partial
  /// write, a ``PeerEvent/sessionWritable(_:)`` event reports when there is room again.
  public mutating func write(_ bytes: RawSpan, to id: UInt16) -> Int {
    guard let index = sessions.index(of: id), sessions.entries[index].phase != .requested,
      let session = externalAccessorySession
    else { return 0 }
    let isHeld = sessions.entries[index].holdsWritesUntil != nil
    let taken = isHeld ? 0 : link.send(bytes, externalAccessory: id, session: session)
    if taken < bytes.byteCount { sessions.setWantsRoom(true, at: index) }
    return taken
  }

  /// Refuses writes to a new session until `time`, or until ``releaseWrites(at:)`` is called.
  mutating func holdWrites(to id: UInt16, until time: Instant) {
    guard let index = sessions.index(of: id) else { return }
    sessions.holdWrites(at: index, until: time)
  }

  mutating func releaseWrites(at index: Int) {
    guard sessions.entries[index].holdsWritesUntil != nil else { return }
    sessions.holdWrites(at: index, until: nil)
    guard sessions.entries[index].wantsRoom else { return }
    sessions.setWantsRoom(false, at: index)
    events.append(.sessionWritable(sessions.entries[index].id))
  }

  /// Refuses a requested session, and drops and reports the bytes that arrived for it.
  mutating func dropRequested(_ id: UInt16) {
    let bytes = sessions.drop(id)
    if bytes > 0 { events.append(.strayData(session: id, bytes: bytes)) }
    releaseIfPossible()
  }

  /// Closes an open session.
  public mutating func closeSession(_ id: UInt16) {
    guard sessions.isOpen(id) else { return }
    closeSession(id, link.role == .accessory ? .closedByAccessory : .closedByDevice)
  }

  mutating func closeSession(_ id: UInt16, _ end: SessionEnd) {
    send(link.role == .accessory ? .sessionStatus(id, close: true) : .stopSession(id))
    endSession(id, end)
  }

  mutating func endSession(_ id: UInt16, _ end: SessionEnd) {
    guard sessions.end(id) else { return }
    events.append(.sessionEnded(id, end))
    releaseIfPossible()
  }

  mutating func endAllSessions(_ end: SessionEnd) {
    for id in sessions.entries.filter({ $0.phase != .ended }).map(\.id) { endSession(id, end) }
  }

  /// Passes the next run of complete packets to `body`, which sends or copies it. Returns false if there is nothing to
  /// send. A run consists of at least one packet, and ends once it has at least `limit` bytes. If the run wraps around
  /// the end of the buffer, `body` gets it in two spans; otherwise the second span is empty.
  ///
  /// The packets count as sent, so `body` must keep what it cannot send immediately. `body` must not call the peer.
  public mutating func transmit(atMost limit: Int, now: Instant, _ body: (RawSpan, RawSpan) -> Void) -> Bool {
    guard link.transmit(atMost: limit, now: now, body) else { return false }
    // Room for more bytes normally becomes available with an acknowledgement; on a link without acknowledgements, it
    // becomes available when a packet is sent.
    if link.isZeroAcknowledgement, sessions.waitingWriters > 0, roomSince == nil { roomSince = now }
    return true
  }

  /// Appends the next packet to `bytes`. Returns false if there is nothing to send now. This method is for owners that
  /// send one packet at a time, such as tests.
  public mutating func nextTransmit(into bytes: inout [UInt8], now: Instant) -> Bool {
    transmit(atMost: 1, now: now) { packet, _ in packet.withUnsafeBytes { bytes.append(contentsOf: $0) } }
  }

  mutating func announceRoom() {
    roomSince = nil
    guard sessions.waitingWriters > 0 else { return }
    for index in sessions.entries.indices
    where sessions.entries[index].wantsRoom && sessions.entries[index].holdsWritesUntil == nil {
      let id = sessions.entries[index].id
      guard link.unacknowledged(externalAccessory: id) <= link.settings.sessionSendBound / 2 else { continue }
      sessions.setWantsRoom(false, at: index)
      events.append(.sessionWritable(id))
    }
  }

  // MARK: Time

  /// How long a session may be full before this end closes it, well before the other end would give up on the whole
  /// link. Without acknowledgements, the other end never gives up.
  private var sleepLimit: Milliseconds {
    link.isZeroAcknowledgement ? Self.longestPause : Milliseconds(link.patience.count * 3 / 4)
  }

  /// How long an unread session may block reads from the cable.
  private static let longestPause = Milliseconds(10_000)

  private var holdDeadline: Instant? { holdingSince.map { $0 + sleepLimit } }

  /// The time at which to call ``Peer/handleTimeout(now:)``, or nil if there is no timeout.
  @inline(__always)
  public var deadline: Instant? {
    Instant.earlier(
      Instant.earlier(link.deadline, holdDeadline),
      Instant.earlier(Instant.earlier(roomSince, answerDeadline), Instant.earlier(sessions.heldUntil, pieceDeadline)))
  }

  /// Returns ``deadline``, for an owner that asks after every read. The method is mutating although it changes nothing,
  /// because the compiler would call a nonmutating method on a copy of the peer's 900 bytes if a class owns the peer.
  public mutating func nextDeadline() -> Instant? { deadline }

  mutating func handleTimeout(now: Instant) {
    if let due = holdDeadline, due <= now {
      for entry in sessions.entries.filter({ $0.fullSince.map { $0 + sleepLimit <= now } ?? false }) {
        closeSession(entry.id, .notRead(bytes: entry.unread))
      }
    }
    for index in sessions.entries.indices {
      if let due = sessions.entries[index].holdsWritesUntil, due <= now { releaseWrites(at: index) }
    }
    react(link.handleTimeout(now: now))
    if roomSince != nil { announceRoom() }
  }

  mutating func stop(_ reason: String) {
    leaveLink(.channelEnded(reason))
    link.stop()
    scanner.forget()
    pieceDeadline = nil
  }
}
