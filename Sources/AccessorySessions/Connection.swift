import AccessoryCore
import IAP2

/// Connects a peer to a cable on a loop; this is the only place where a peer's decisions become I/O.
///
/// ```
///   Channel ── received ──▶ peer.receive ──▶ events ──▶ owner, sessions
///   Channel ◀── send ────── peer.transmit (what does not fit waits in the outbox)
///   loop timer ◀──▶ peer.deadline
/// ```
///
/// After every input (bytes, a timeout, room to send, or a call from the owner), the connection drains the events,
/// sends everything that can be sent, and sets the timer. Nothing is allocated per packet.
public final class Connection<Role: PeerRole>: ChannelHandler, SessionCarrier, TimerHandler {
  /// The loop that the connection runs on.
  public let loop: any EventLoop
  /// The cable between the two ends.
  public let cable: Cable
  private let timer: LoopTimer
  let spares: SpareBuffers?

  // Exclusivity is not checked, because the checks would cost several calls per packet. A connection belongs to one
  // loop, and while the peer changes, the connection calls only `send`, which never calls back.
  @exclusivity(unchecked) private var peer: Peer<Role>
  @exclusivity(unchecked) private var outbox = ByteQueue()
  @exclusivity(unchecked) private var sessions: [Session] = []
  @exclusivity(unchecked) private var natives: [NativeCarrier] = []
  @exclusivity(unchecked) private var owner: (any ConnectionOwner)?
  @exclusivity(unchecked) private var isDraining = false
  @exclusivity(unchecked) private var isOver = false
  /// Whether reading from the cable is paused; see ``PeerCore/wantsCablePaused``.
  @exclusivity(unchecked) private var isPaused = false
  /// Measures how long the other side has been silent. The value is nil if silence is allowed.
  @exclusivity(unchecked) private var watch: PhaseClock?
  private var watchTimer: LoopTimer?
  /// Called after anything that may have changed the link: received or written bytes, or an expired timeout.
  @exclusivity(unchecked) public var linkMoved: (() -> Void)?

  /// Packets are combined into sends of up to this size, unless the medium keeps transfers separate.
  private static var gatherLimit: Int { 256 * 1024 }

  /// Creates a connection that has not started. The connection closes the cable if the other side is silent for longer
  /// than `handshakeTimeouts` allows. Call this initializer on the loop.
  public init(
    peer: consuming Peer<Role>, cable: Cable, handshakeTimeouts: HandshakeTimeouts = .unlimited, on loop: any EventLoop
  ) {
    self.peer = peer
    let isLimited = handshakeTimeouts != .unlimited && (!cable.isDedicated || handshakeTimeouts.coversDedicated)
    watch = isLimited ? PhaseClock(handshakeTimeouts) : nil
    self.cable = cable
    self.loop = loop
    spares = loop.spares
    timer = loop.makeTimer()
    timer.handler = self
    self.peer.core.borrow(from: loop.spares)
  }

  deinit {
    timer.cancel()
    watchTimer?.cancel()
  }

  /// Starts the connection. The owner is retained until the connection ends.
  public func start(_ owner: any ConnectionOwner) {
    self.owner = owner
    cable.main.start(self)
    peer.core.start(now: now)
    drainAndFlush()
    notePhase()
  }

  /// Calls `body` to act on the peer, and then handles the consequences.
  public func perform<Result>(_ body: (inout Peer<Role>, Instant) -> Result) -> Result {
    let result = body(&peer, now)
    drainAndFlush()
    notePhase()
    return result
  }

  /// Ends the connection from this side. The connection's sessions end with `reason`, and the cable is closed. Without
  /// sessions, nobody reads the reason, and it is not written.
  public func close(_ reason: @autoclosure () -> String) {
    guard !isOver else { return }
    drainAndFlush()
    cable.main.close()
    finish(sessions.isEmpty && natives.isEmpty ? "" : reason())
  }

  /// Closes every open session from this side, but keeps the connection open.
  public func closeSessions() {
    for session in sessions + natives.map(\.session) { session.close() }
  }

  /// Drops every open session without closing it. The other side still sees the sessions as open, but gets no more
  /// answers. Returns the sessions.
  public func forgetSessions() -> [Session] {
    let open = (sessions + natives.map(\.session)).filter(\.isOpen)
    for session in open {
      let discarder = Discarder()
      session.handler = discarder
      discarder.sessionIsReadable(session)
    }
    return open
  }

  /// Lets `body` read the peer's state.
  public func inspect<Result>(_ body: (borrowing Peer<Role>) -> Result) -> Result {
    body(peer)
  }

  private var now: Instant { loop.now }

  private func finish(_ reason: String) {
    isOver = true
    timer.cancel()
    watchTimer?.cancel()
    Role.stop(&peer, reason)
    linkMoved = nil
    drainEvents()
    for native in natives { native.end(.channelEnded(reason)) }
    owner = nil
  }

  // MARK: Events and output

  private func drainAndFlush() {
    // A handler called from this method may write; the call in progress then handles the consequences.
    guard !isDraining, !isOver else { return }
    isDraining = true
    defer { isDraining = false }
    drainEvents()
    if isOver { return }
    flush()
    if peer.core.wantsCablePaused != isPaused { setPaused(!isPaused) }
    if let deadline = peer.core.nextDeadline() {
      timer.arm(at: deadline)
    } else {
      timer.cancel()
    }
    linkMoved?()
  }

  private func setPaused(_ pauses: Bool) {
    isPaused = pauses
    if pauses { cable.main.pauseReading() } else { cable.main.resumeReading() }
  }

  /// Sends until nothing is left to send or the channel has no more room. Packets are sent directly from the peer's
  /// storage. Only bytes that the channel does not accept immediately are copied.
  private func flush() {
    let channel = cable.main
    let limit = channel.keepsTransfersApart ? 1 : Self.gatherLimit
    while true {
      if !outbox.isEmpty {
        outbox.consume { channel.send($0) }
        if !outbox.isEmpty { return }
      }
      let wasMore = peer.core.transmit(atMost: limit, now: now) { packets, rest in
        let taken = rest.isEmpty ? channel.send(packets) : channel.send(packets, then: rest)
        let left = taken - packets.byteCount
        if left < 0 { outbox.append(packets.extracting(taken..<packets.byteCount)) }
        if left < rest.byteCount { outbox.append(rest.extracting(max(0, left)..<rest.byteCount)) }
      }
      if !wasMore { return }
    }
  }

  private func drainEvents() {
    while let event = peer.core.nextEvent() {
      switch event {
      case .sessionReadable(let id): session(id)?.becameReadable()
      case .sessionWritable(let id): session(id)?.becameWritable()
      case .sessionEnded(let id, let end): finishSession(id, end)
      case .linkDown(let end):
        // Sessions with native transport bypass the link, but end when the link does, because the device and the
        // accessory then start over.
        for native in natives { native.end(.linkDown(end)) }
        owner?.connectionTold(event)
        notePhase()
      default:
        owner?.connectionTold(event)
        notePhase()
      }
    }
  }

  /// Handles the timeout at the peer's deadline.
  public func timerFired(_ timer: LoopTimer) {
    Role.handleTimeout(&peer, now: now)
    drainAndFlush()
    notePhase()
  }

  // MARK: Silence

  /// What the peer is waiting for.
  public var phase: PeerPhase { peer.currentPhase() }

  private func notePhase() {
    guard watch != nil, !isOver else { return }
    let phase = peer.currentPhase()
    let isNewlyReady = phase == .ready && watch?.phase != .ready
    watch?.note(phase, now: now)
    armWatch()
    // Most connections are idle from here on, so they should not hold memory that only the handshake needed.
    if isNewlyReady { peer.core.releaseMemory() }
  }

  private func armWatch() {
    guard let deadline = watch?.deadline else {
      watchTimer?.cancel()
      watchTimer = nil
      return
    }
    let timer = watchTimer ?? loop.makeTimer { [unowned self] in silenceLasted() }
    watchTimer = timer
    timer.arm(at: deadline)
  }

  private func silenceLasted() {
    guard let silence = watch?.handleTimeout(peer.currentPhase(), now: now) else { return armWatch() }
    // Bytes that are not a packet, such as noise caused by a wrong baud rate, are reported first.
    peer.core.reportSkippedBytes()
    drainEvents()
    if isOver { return }
    let last = owner
    cable.main.close()
    finish(silence.sentence(about: "the other end"))
    last?.connectionGaveUp(silence)
  }

  // MARK: The channel

  /// Processes bytes that arrived on the cable.
  public func channel(_ channel: any Channel, received bytes: RawSpan) {
    Role.receive(bytes, &peer, now: now)
    drainAndFlush()
  }

  /// Resumes sending, because the channel has room again.
  public func channelIsWritable(_ channel: any Channel) {
    drainAndFlush()
  }

  /// Called when the cable has ended.
  public func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    guard !isOver else { return }
    let last = owner
    finish(end.description)
    last?.connectionEnded(end)
  }

  // MARK: Sessions

  private func session(_ id: UInt16) -> Session? {
    // Devices number sessions consecutively, so a session is usually found without a search.
    guard let first = sessions.first else { return nil }
    let guess = Int(id) - Int(first.id)
    if sessions.indices.contains(guess), sessions[guess].id == id { return sessions[guess] }
    for session in sessions where session.id == id { return session }
    return nil
  }

  func adopt(_ id: UInt16, _ protocolName: String) -> Session {
    let session = Session(id: id, protocolName: protocolName, carrier: self)
    sessions.append(session)
    return session
  }

  /// Adds a session over a native channel. The caller can set the session's handler before anything about the session
  /// is reported.
  func adoptNative(_ channel: any Channel, _ protocolName: String, closing: SessionEnd) -> Session {
    let native = NativeCarrier(channel, protocolName, closing: closing) { [unowned self] native, end in
      natives.removeAll { $0 === native }
      owner?.connectionSessionEnded(native.session, end)
    }
    natives.append(native)
    native.start()
    // The cable may have ended while the native channel was being opened.
    if isOver { native.end(.channelEnded("the cable is gone")) }
    return native.session
  }

  private func finishSession(_ id: UInt16, _ end: SessionEnd) {
    var rest: [UInt8] = []
    peer.core.takeInbox(id, &rest)
    guard let index = sessions.firstIndex(where: { $0.id == id }) else { return }
    let session = sessions.remove(at: index)
    session.finish(end, rest: rest)
    owner?.connectionSessionEnded(session, end)
  }

  func write(_ bytes: RawSpan, to session: Session) -> Int {
    let taken = peer.core.write(bytes, to: session.id)
    drainAndFlush()
    return taken
  }

  func takeInbox(of session: Session, _ buffer: inout [UInt8]) {
    peer.core.takeInbox(session.id, &buffer)
  }

  func consume(_ count: Int, of session: Session) {
    peer.core.consume(count, of: session.id)
    drainAndFlush()
  }

  func close(_ session: Session) {
    peer.core.closeSession(session.id)
    drainAndFlush()
  }

  var hasAcknowledgements: Bool { true }

  func unacknowledged(_ session: Session) -> Int {
    peer.core.unacknowledged(session.id)
  }
}

/// Receives a connection's reports, on the connection's loop.
public protocol ConnectionOwner: AnyObject {
  /// Called for every peer event that does not concern an open session.
  func connectionTold(_ event: PeerEvent)
  /// Called when a session has ended, after the session's own handler.
  func connectionSessionEnded(_ session: Session, _ end: SessionEnd)
  /// Called when the cable has ended, after every session has been reported as ended.
  func connectionEnded(_ end: ChannelEnd)
  /// Called when the cable was closed because the other side was silent for too long, after every session has been
  /// reported as ended.
  func connectionGaveUp(_ silence: Silence)
}

extension ConnectionOwner {
  /// By default, a silent cable is reported as lost.
  public func connectionGaveUp(_ silence: Silence) {
    connectionEnded(.lost(silence.sentence(about: "it")))
  }
}
