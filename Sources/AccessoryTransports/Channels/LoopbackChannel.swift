import AccessoryCore

/// One end of a cable that exists in memory: both ends on one loop, virtual or real.
///
/// A send is delivered in a later turn, after the latency and the time its bytes need at the rate of the line. The
/// receiving end holds up to a capacity; a sender that finds it full waits, as on any wire. Closing one end lets the
/// other receive what was sent before. ``LoopbackCable/cut(_:)`` is the cable being pulled.
///
/// The owner keeps an end for as long as it is used; a started end keeps its handler until it is over.
public final class LoopbackChannel: Channel {
  private enum State {
    case made
    case started(any ChannelHandler)
    /// Closed by its owner, or ended and reported.
    case over
  }

  /// Whether each `send` is delivered by itself, as a USB transfer would be.
  public let keepsTransfersApart: Bool

  private let loop: any EventLoop
  private let inbound: LoopbackPipe
  private let outbound: LoopbackPipe
  private weak var peer: LoopbackChannel?
  private var state = State.made
  private var isPaused = false
  private var delivery: LoopTimer?

  private init(on loop: any EventLoop, inbound: LoopbackPipe, outbound: LoopbackPipe, keepsTransfersApart: Bool) {
    self.loop = loop
    self.inbound = inbound
    self.outbound = outbound
    self.keepsTransfersApart = keepsTransfersApart
    delivery = loop.makeTimer { [weak self] in self?.deliver() }
  }

  /// Makes both ends of a cable.
  ///
  /// - Parameters:
  ///   - latency: how long a byte travels.
  ///   - bytesPerSecond: how fast the line takes bytes, in each direction; without limit when nil.
  ///   - capacity: how many bytes may be on the way or wait for a paused receiver, in each direction.
  ///   - keepsTransfersApart: whether each `send` is delivered by itself.
  public static func makePair(
    on loop: any EventLoop, latency: Duration = .zero, bytesPerSecond: Int? = nil, capacity: Int = 256 * 1024,
    keepsTransfersApart: Bool = false
  ) -> LoopbackCable {
    precondition(capacity > 0, "a loopback channel needs a capacity")
    precondition(
      bytesPerSecond.map { $0 > 0 } ?? true, "a loopback channel cannot stand still: its rate must be above 0")
    let pipes = (0..<2).map { _ in
      LoopbackPipe(
        capacity: capacity, latency: latency, bytesPerSecond: bytesPerSecond, keepsTransfersApart: keepsTransfersApart)
    }
    let left = LoopbackChannel(
      on: loop, inbound: pipes[0], outbound: pipes[1], keepsTransfersApart: keepsTransfersApart)
    let right = LoopbackChannel(
      on: loop, inbound: pipes[1], outbound: pipes[0], keepsTransfersApart: keepsTransfersApart)
    left.peer = right
    right.peer = left
    return LoopbackCable(left: left, right: right)
  }

  /// Whether it was closed, or has ended and said so.
  public var isOver: Bool {
    if case .over = state { true } else { false }
  }

  // MARK: - Channel

  /// Begins to receive.
  public func start(_ handler: any ChannelHandler) {
    loop.preconditionCurrent()
    switch state {
    case .made:
      state = .started(handler)
      scheduleDelivery()
    case .started: preconditionFailure("a channel is started once")
    case .over: return
    }
  }

  /// Takes what there is room for.
  public func send(_ bytes: RawSpan) -> Int {
    loop.preconditionCurrent()
    if case .over = state { return 0 }
    guard outbound.isOpen else { return 0 }
    let taken = outbound.take(bytes, now: loop.now)
    if taken < bytes.byteCount { outbound.senderWaits = true }
    if taken > 0 { peer?.scheduleDelivery() }
    return taken
  }

  /// What is on its way, waits for a receiver that paused, or was lost there when the cable ended.
  public var undelivered: Int { outbound.undelivered }

  /// Leaves what arrives in the cable, which fills up.
  public func pauseReading() {
    loop.preconditionCurrent()
    isPaused = true
  }

  /// Goes on.
  public func resumeReading() {
    loop.preconditionCurrent()
    isPaused = false
    scheduleDelivery()
  }

  /// Closes this end; the other receives what was sent before.
  public func close() {
    loop.preconditionCurrent()
    if case .over = state { return }
    finishState()
    outbound.finish(.closedByPeer, now: loop.now)
    inbound.cut(.closedByPeer, now: loop.now)
    peer?.scheduleDelivery()
  }

  // MARK: - Delivery

  func cut(_ end: ChannelEnd) {
    inbound.cut(end, now: loop.now)
    scheduleDelivery()
  }

  private func scheduleDelivery() {
    guard case .started = state, let next = inbound.nextArrival(wantsBytes: !isPaused), let delivery else { return }
    if let armed = delivery.deadline, armed <= next { return }
    delivery.arm(at: max(next, loop.now))
  }

  private func deliver() {
    // What handlers send while this goes on waits for the next time, so that one pair cannot keep a turn for itself.
    var left = inbound.arrived(at: loop.now)
    while left > 0, !isPaused, case .started(let handler) = state {
      let block = inbound.nextBlock(limit: left)
      handler.channel(self, received: block.bytes)
      inbound.received(block.count)
      left = min(left - block.count, inbound.arrived(at: loop.now))
    }
    if inbound.senderWaits, inbound.hasRoom {
      inbound.senderWaits = false
      peer?.thereIsRoom()
    }
    guard case .started(let handler) = state else { return }
    if let end = inbound.arrivedEnd(at: loop.now) {
      finishState()
      outbound.cut(end, now: loop.now)
      handler.channel(self, endedWith: end)
    } else {
      scheduleDelivery()
    }
  }

  private func thereIsRoom() {
    if case .started(let handler) = state, outbound.isOpen { handler.channelIsWritable(self) }
  }

  private func finishState() {
    state = .over
    delivery?.cancel()
  }
}

/// Both ends of a cable in memory, and the hand that can pull it.
public struct LoopbackCable {
  /// One end.
  public let left: LoopbackChannel
  /// The other end.
  public let right: LoopbackChannel

  /// Pulls the cable: bytes on the way are lost, and both ends hear the end in a later turn, unless they are closed.
  public func cut(_ end: ChannelEnd = .lost("unplugged")) {
    left.cut(end)
    right.cut(end)
  }
}
