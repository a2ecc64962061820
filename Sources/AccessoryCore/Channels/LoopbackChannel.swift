/// One end of an in-memory cable. Both ends run on the same loop, in virtual or real time.
///
/// Sent bytes are delivered in a later turn, after the latency plus the time that the bytes take at the line's rate.
/// The receiving end holds a limited number of bytes; when it is full, the sender must wait. When one end is closed,
/// the other end still receives the bytes that were sent earlier. ``LoopbackCable/cut(_:)`` unplugs the cable.
///
/// An end must be retained by its owner while it is in use; a started end retains its handler until the channel ends.
public final class LoopbackChannel: Channel, TimerHandler {
  private enum State {
    case made
    case started
    /// The owner closed the channel, or the channel has reported its end.
    case over
  }

  /// Whether each `send` is delivered separately, like a USB transfer.
  public let keepsTransfersApart: Bool

  private let loop: any EventLoop
  private let inbound: LoopbackPipe
  private let outbound: LoopbackPipe
  private let delivery: LoopTimer
  // For speed, this type uses neither exclusivity checks nor weak references. Both ends belong to one loop, and an end
  // that is released clears the other end's reference to it.
  @exclusivity(unchecked) private unowned var peer: LoopbackChannel?
  @exclusivity(unchecked) private var state = State.made
  @exclusivity(unchecked) private var handler: (any ChannelHandler)?
  @exclusivity(unchecked) private var isPaused = false

  private init(on loop: any EventLoop, inbound: LoopbackPipe, outbound: LoopbackPipe, keepsTransfersApart: Bool) {
    self.loop = loop
    self.inbound = inbound
    self.outbound = outbound
    self.keepsTransfersApart = keepsTransfersApart
    delivery = loop.makeTimer()
    delivery.handler = self
  }

  deinit {
    delivery.cancel()
    peer?.peer = nil
  }

  /// Creates both ends of a cable.
  ///
  /// - Parameters:
  ///   - latency: the delay of each byte.
  ///   - bytesPerSecond: the line's rate in each direction; nil means unlimited.
  ///   - capacity: how many bytes may be in transit or waiting for a paused receiver, in each direction.
  ///   - keepsTransfersApart: whether each `send` is delivered separately.
  public static func makePair(
    on loop: any EventLoop, latency: Duration = .zero, bytesPerSecond: Int? = nil, capacity: Int = 256 * 1024,
    keepsTransfersApart: Bool = false
  ) -> LoopbackCable {
    precondition(capacity > 0, "a loopback channel needs a capacity")
    precondition(
      bytesPerSecond.map { $0 > 0 } ?? true, "a loopback channel needs a rate above 0")
    func makePipe() -> LoopbackPipe {
      LoopbackPipe(
        capacity: capacity, latency: latency, bytesPerSecond: bytesPerSecond,
        keepsTransfersApart: keepsTransfersApart, spares: loop.spares)
    }
    let (there, back) = (makePipe(), makePipe())
    let left = LoopbackChannel(on: loop, inbound: back, outbound: there, keepsTransfersApart: keepsTransfersApart)
    let right = LoopbackChannel(on: loop, inbound: there, outbound: back, keepsTransfersApart: keepsTransfersApart)
    left.peer = right
    right.peer = left
    return LoopbackCable(left: left, right: right)
  }

  /// Whether the owner closed the channel, or the channel has reported its end.
  public var isOver: Bool { state == .over }

  // MARK: - Channel

  /// Starts receiving.
  public func start(_ handler: any ChannelHandler) {
    loop.preconditionCurrent()
    switch state {
    case .made:
      state = .started
      self.handler = handler
      scheduleDelivery()
    case .started: preconditionFailure("a channel can be started only once")
    case .over: return
    }
  }

  /// Accepts as many bytes as fit.
  public func send(_ bytes: RawSpan) -> Int {
    loop.preconditionCurrent()
    guard state != .over else { return 0 }
    guard outbound.isOpen else {
      if bytes.byteCount > 0 { waitForNothing() }
      return 0
    }
    let taken = outbound.take(bytes, now: loop.now)
    if taken < bytes.byteCount { outbound.senderWaits = true }
    if taken > 0 { peer?.scheduleDelivery() }
    return taken
  }

  /// The number of bytes that are in transit, waiting for a paused receiver, or lost because the cable ended.
  public var undelivered: Int { outbound.undelivered }

  /// Stops receiving, so that the cable fills up.
  public func pauseReading() {
    loop.preconditionCurrent()
    isPaused = true
    scheduleDelivery()
  }

  /// Continues to receive.
  public func resumeReading() {
    loop.preconditionCurrent()
    isPaused = false
    scheduleDelivery()
  }

  /// Closes this end; the other end still receives the bytes that were sent earlier.
  public func close() {
    loop.preconditionCurrent()
    if state == .over { return }
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
    guard state == .started else { return }
    if let next = inbound.nextArrival(wantsBytes: !isPaused, endWaits: !isForsaken) {
      delivery.arm(noLaterThan: max(next, loop.now))
    }
  }

  /// True if the other end is gone and the owner, which has paused reading, would wait forever for room to send.
  private var isForsaken: Bool { isPaused && outbound.senderWaits && !outbound.isOpen }

  private func waitForNothing() {
    outbound.senderWaits = true
    scheduleDelivery()
  }

  /// Delivers the bytes that are due, or reports that the channel has ended.
  public func timerFired(_ timer: LoopTimer) {
    // Bytes that handlers send during this delivery are delivered in the next turn, so that no cable monopolizes a
    // turn.
    var left = inbound.arrived(at: loop.now)
    while left > 0, !isPaused, let handler {
      let block = inbound.nextBlock(limit: left)
      handler.channel(self, received: block.bytes)
      inbound.received(block.count)
      left = min(left - block.count, inbound.arrived(at: loop.now))
    }
    if inbound.senderWaits, inbound.hasRoom {
      inbound.senderWaits = false
      peer?.thereIsRoom()
    }
    guard let end = inbound.arrivedEnd(at: loop.now, waits: !isForsaken) else { return scheduleDelivery() }
    guard let handler else { return }
    finishState()
    outbound.cut(end, now: loop.now)
    handler.channel(self, endedWith: end)
  }

  private func thereIsRoom() {
    if outbound.isOpen { handler?.channelIsWritable(self) }
  }

  private func finishState() {
    state = .over
    handler = nil
    delivery.cancel()
  }
}

/// An in-memory cable, which can be unplugged.
public struct LoopbackCable {
  /// The cable's left end.
  public let left: LoopbackChannel
  /// The cable's right end.
  public let right: LoopbackChannel

  /// Unplugs the cable: bytes in transit are lost, and both channels, unless closed, report in a later turn that they
  /// have ended.
  public func cut(_ end: ChannelEnd = .lost("unplugged")) {
    left.cut(end)
    right.cut(end)
  }
}

/// The native channels of an in-memory cable. Each native channel is a pair of channels on which every send is one
/// transfer, as on USB.
///
/// ```swift
/// let channels = LoopbackNativeChannels(on: loop)
/// let device = Cable(main: pair.right, openNativeChannel: channels.open)
/// let accessory = Cable(main: pair.left, onNativeChannel: { channels.onEvent = $0 })
/// ```
public final class LoopbackNativeChannels {
  /// Called, after the latency, for each channel that the device opens. If `onEvent` is nil, the channels are closed.
  public var onEvent: Cable.Listener?

  private let loop: any EventLoop
  private let latency: Duration
  private let bytesPerSecond: Int?
  private var open: [(name: String, cable: LoopbackCable)] = []
  private var severable: [SeverableChannel] = []

  /// Creates a cable's native channels, each with the latency and the rate of
  /// ``LoopbackChannel/makePair(on:latency:bytesPerSecond:capacity:keepsTransfersApart:)``.
  public init(on loop: any EventLoop, latency: Duration = .zero, bytesPerSecond: Int? = nil) {
    self.loop = loop
    self.latency = latency
    self.bytesPerSecond = bytesPerSecond
  }

  /// Opens a protocol's native channel, and returns the device's end of the channel.
  public func open(_ protocolName: String) throws(NativeChannelRefusal) -> any Channel {
    open.removeAll { $0.cable.left.isOver || $0.cable.right.isOver }
    if open.contains(where: { $0.name == protocolName }) { throw .inUse }
    let cable = LoopbackChannel.makePair(
      on: loop, latency: latency, bytesPerSecond: bytesPerSecond, capacity: 64 * 1024, keepsTransfersApart: true)
    open.append((protocolName, cable))
    loop.schedule(after: latency) { [weak self] in
      if let onEvent = self?.onEvent { onEvent(protocolName, cable.left) } else { cable.left.close() }
    }
    return cable.right
  }

  /// Opens a protocol's native channel like ``open(_:)``, so that ``sever()`` disconnects it.
  package func openSeverable(_ protocolName: String) throws(NativeChannelRefusal) -> any Channel {
    let channel = SeverableChannel(around: try open(protocolName), on: loop)
    severable.removeAll(where: \.isOver)
    severable.append(channel)
    return channel
  }

  /// Disconnects the device's ends without a notification.
  package func sever() {
    for channel in severable { channel.sever() }
  }

  /// Unplugs the cable, so that every channel ends on both sides.
  public func cut() {
    for entry in open { entry.cable.cut() }
    open = []
    onEvent = nil
  }
}
