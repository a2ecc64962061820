import AccessoryCore
import AccessoryFormats

/// A channel that applies faults to another channel.
///
/// In both directions, bytes pass through the faults in the order of the list. Each fault acts only in its own
/// directions. `in` is the direction of the bytes that this end receives. Given the same faults, the same seed and the
/// same bytes at the same times, the result is the same. Faults can hold only a limited number of bytes. When the limit
/// is reached, `send` accepts fewer bytes and the inner channel is not read.
///
/// ```swift
/// let faults = try ["latency,delay=20ms", "loss,chance=2%"].map { try Fault($0) }
/// let channel = FaultChannel(around: socket, faults, random: SeededRandom(seed: 7), on: loop) { print($0) }
/// ```
///
/// A clean close, in either direction, takes effect only after the bytes sent before it have been delivered. If the
/// cable is lost, bytes in transit are lost too. If the inner channel accepts nothing for ``closingTime`` after the
/// owner has closed this channel, this channel ends without sending the rest.
public final class FaultChannel: Channel, ChannelHandler, TimerHandler {
  private enum State {
    case made
    case open(any ChannelHandler)
    /// The owner has closed the channel, which is still sending accepted bytes.
    case closing
    case over
  }

  /// How long a closed channel waits for the inner channel to accept more bytes.
  static let closingTime = Duration.seconds(2)

  private let inner: any Channel
  private let loop: any EventLoop
  private let report: (FaultEvent) -> Void
  private let struck: ((FaultStrike) -> Void)?
  private let inbound: FaultLane
  private let outbound: FaultLane
  // Exclusivity checking is off, because each chunk causes several accesses and every check takes time. These
  // properties are only read and assigned.
  @exclusivity(unchecked) private var state = State.made
  private let timer: LoopTimer
  private var closer: LoopTimer?
  /// How the inner channel was closed, if the close was clean and bytes that precede it are still in transit.
  @exclusivity(unchecked) private var ending: ChannelEnd?
  @exclusivity(unchecked) private var isPaused = false
  @exclusivity(unchecked) private var isInnerPaused = false
  @exclusivity(unchecked) private var isDue = false
  @exclusivity(unchecked) private var senderWaits = false

  /// Creates a channel that applies `faults` to `inner` and draws random numbers from `random`. `report` receives the
  /// events that users should see, such as cuts and stalls. `struck` receives each packet that a packet fault affects.
  public init(
    around inner: any Channel, _ faults: [Fault], random: SeededRandom, unit: FaultUnit = .linkPackets,
    on loop: any EventLoop, report: @escaping (FaultEvent) -> Void = { _ in }, struck: ((FaultStrike) -> Void)? = nil
  ) {
    self.inner = inner
    self.loop = loop
    (self.report, self.struck) = (report, struck)
    let (received, sent) = Self.seeded(faults, random)
    inbound = FaultLane(.in, received, unit: unit, keepsStruck: struck != nil)
    outbound = FaultLane(.out, sent, unit: unit, keepsStruck: struck != nil)
    timer = loop.makeTimer()
    timer.handler = self
    inbound.sink = { [unowned self] in deliver($0) }
    outbound.sink = { inner.send($0) }
  }

  deinit { timer.cancel() }

  /// Each fault gets separate random numbers in each direction, so appending a fault to the list does not change the
  /// effects of the others.
  private static func seeded(
    _ faults: [Fault], _ random: SeededRandom
  ) -> (in: [(fault: Fault, random: SeededRandom)], out: [(fault: Fault, random: SeededRandom)]) {
    var random = random
    let seeded = faults.map { ($0, SeededRandom(seed: random.next())) }
    return (seeded.map { ($0, $1.derived("in")) }, seeded.map { ($0, $1.derived("out")) })
  }

  /// The effects of each fault in each direction, in the order of the list.
  public var counts: [(fault: Fault, direction: Fault.Direction, count: FaultCount)] {
    [inbound, outbound].flatMap { lane in lane.counts.map { ($0.fault, lane.direction, $0.count) } }
  }

  /// Replaces the faults while the channel is in use. Faults that are in both the old and the new list keep their
  /// state. A removed fault still passes on the bytes that it holds, at its usual speed, but does not affect any more
  /// bytes. The times in new faults are measured from this call.
  public func change(to faults: [Fault], random: SeededRandom) {
    guard ending == nil else { return }
    switch state {
    case .made, .open: break
    case .closing, .over: return
    }
    let (received, sent) = Self.seeded(faults, random)
    inbound.change(to: received, now: loop.now)
    outbound.change(to: sent, now: loop.now)
    if case .open = state { advanceSoon() }
  }

  /// Whether the channel has ended, or its owner has closed it and all bytes have been sent.
  public var isOver: Bool {
    if case .over = state { true } else { false }
  }

  // MARK: - Channel

  /// Whether the inner channel preserves the boundaries of transfers.
  public var keepsTransfersApart: Bool { inner.keepsTransfersApart }

  /// The maximum length of a transfer on the inner channel.
  public var longestTransfer: Int? { inner.longestTransfer }

  /// The number of bytes that the faults and the inner channel hold.
  public var undelivered: Int { outbound.held + inner.undelivered }

  /// Starts receiving. The faults' times are measured from this call.
  public func start(_ handler: any ChannelHandler) {
    switch state {
    case .made: break
    case .open, .closing: preconditionFailure("a channel can be started only once")
    case .over: return
    }
    state = .open(handler)
    inbound.start(now: loop.now)
    if !isCut { outbound.start(now: loop.now) }
    inner.start(self)
    settleReading()
    // Reports and bytes that faults produce at the start are delivered in a later turn of the loop.
    advanceSoon()
  }

  /// Accepts as many bytes as the faults and the inner channel have room for.
  public func send(_ bytes: RawSpan) -> Int {
    guard case .open = state, outbound.cut == nil else { return 0 }
    if ending != nil {
      senderWaits = true
      advanceSoon()
      return 0
    }
    let taken = outbound.take(bytes, now: loop.now)
    if taken < bytes.byteCount { senderWaits = true }
    if outbound.takeTouched() { arm() }
    return taken
  }

  /// Pauses receiving in this channel and in the inner channel.
  public func pauseReading() {
    isPaused = true
    settleReading()
    if case .open = state, ending != nil { advanceSoon() }
  }

  /// Resumes receiving in a later turn of the loop.
  public func resumeReading() {
    guard isPaused else { return }
    isPaused = false
    inbound.sinkHasRoom()
    if case .open = state { advanceSoon() }
  }

  /// Closes the channel. Accepted bytes are still sent, at the speed that the faults allow.
  public func close() {
    switch state {
    case .made:
      state = .closing
      finishClosing()
    case .open:
      state = .closing
      inbound.discard()
      outbound.finish(now: loop.now)
      if outbound.isDone { return finishClosing() }
      // A channel that is not receiving does not notice that the peer is gone.
      if isInnerPaused { inner.resumeReading() }
      arm()
      limitClosing()
    case .closing, .over: break
    }
  }

  // MARK: - The inner channel

  /// Passes received bytes through the faults.
  public func channel(_ channel: any Channel, received bytes: RawSpan) {
    guard case .open = state, inbound.cut == nil else { return }
    inbound.takeAll(bytes, now: loop.now)
    if inbound.takeTouched() { settle() }
  }

  /// Resumes sending, because the inner channel has room again.
  public func channelIsWritable(_ channel: any Channel) {
    if case .closing = state { limitClosing() }
    outbound.sinkHasRoom()
    outbound.advance(now: loop.now)
    settle()
  }

  /// Called when the inner channel has ended.
  public func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    guard case .open = state else { return abandon() }
    outbound.discard()
    guard end == .closedByPeer else { return finish(end) }
    ending = end
    inbound.finish(now: loop.now)
    settle()
  }

  // MARK: - Advancing

  private func deliver(_ bytes: RawSpan) -> Int {
    guard case .open(let handler) = state else { return bytes.byteCount }
    if isPaused { return 0 }
    handler.channel(self, received: bytes)
    return bytes.byteCount
  }

  /// Does everything that is due now.
  public func timerFired(_ timer: LoopTimer) {
    isDue = false
    inbound.advance(now: loop.now)
    // The cable is cut only once, even if both directions cut it at the same instant.
    if !isCut { outbound.advance(now: loop.now) }
    settle()
  }

  /// Does all work that has become possible since the last call. Never called during another call to this channel.
  private func settle() {
    _ = inbound.takeTouched()
    _ = outbound.takeTouched()
    reportNews(of: inbound)
    reportNews(of: outbound)
    switch state {
    case .made, .over: return
    case .closing:
      // A cut also completes a close that is in progress. Bytes that were not sent before the cut are lost.
      if isCut || outbound.isDone { finishClosing() } else { arm() }
    case .open(let handler):
      if let cut = outbound.cut ?? inbound.cut {
        inner.close()
        return finish(.lost("fault: \(cut.why)"))
      }
      if let ending {
        if inbound.isDone { return finish(ending) }
        // The owner has paused reading until it can send, but the inner channel has ended.
        if isPaused, senderWaits { return finish(ending.dropping(unread: inbound.held)) }
      }
      settleReading()
      if senderWaits, ending == nil, outbound.isOpen {
        senderWaits = false
        handler.channelIsWritable(self)
      }
      if case .open = state { arm() }
    }
  }

  private func reportNews(of lane: FaultLane) {
    for news in lane.takeNews() {
      report(FaultEvent(fault: news.fault, direction: lane.direction, text: news.text))
    }
    guard let struck else { return }
    for (fault, packet) in lane.takeStruck() {
      struck(FaultStrike(fault: fault, direction: lane.direction, packet: packet, time: loop.now))
    }
  }

  private var isCut: Bool { inbound.cut != nil || outbound.cut != nil }

  private func settleReading() {
    guard case .open = state, ending == nil else { return }
    let pauses = isPaused || !inbound.isOpen
    if pauses == isInnerPaused { return }
    isInnerPaused = pauses
    if pauses { inner.pauseReading() } else { inner.resumeReading() }
  }

  private func advanceSoon() {
    isDue = true
    timer.arm(at: loop.now)
  }

  private func arm() {
    if isCut || isDue {
      timer.arm(at: loop.now)
    } else {
      let next = min(inbound.deadline ?? .distantFuture, outbound.deadline ?? .distantFuture)
      if next == .distantFuture { timer.cancel() } else { timer.arm(at: max(next, loop.now)) }
    }
  }

  private func limitClosing() {
    closer?.cancel()
    closer = loop.schedule(after: Self.closingTime) { [weak self] in
      guard let self, case .closing = state else { return }
      // The time limit applies only while the inner channel accepts no bytes. Faults may hold bytes for longer.
      if outbound.isSinkFull { finishClosing() } else { limitClosing() }
    }
  }

  private func finishClosing() {
    abandon()
    inner.close()
  }

  private func finish(_ end: ChannelEnd) {
    guard case .open(let handler) = state else { return }
    abandon()
    handler.channel(self, endedWith: end)
  }

  private func abandon() {
    state = .over
    inbound.discard()
    outbound.discard()
    timer.cancel()
    closer?.cancel()
  }
}

/// An event that a fault reports to the user.
public struct FaultEvent: Equatable, Sendable, CustomStringConvertible {
  /// The fault.
  public let fault: Fault
  /// The direction, as seen from the end where the fault acts.
  public let direction: Fault.Direction
  /// What happened, for example "the cable is pulled".
  public let text: String

  /// The event as text, for example "cut,after=2s (out): the cable is pulled".
  public var description: String { description(of: "\(fault)") }

  /// The event as text, given the text of the fault.
  package func description(of fault: String) -> String { "\(fault) (\(direction.rawValue)): \(text)" }
}

/// A packet that a packet fault lost, duplicated, changed or delayed.
public struct FaultStrike: Equatable, Sendable {
  /// The fault.
  public let fault: Fault
  /// The direction, as seen from the end where the fault acts.
  public let direction: Fault.Direction
  /// The original packet, before the fault affected it.
  public let packet: [UInt8]
  /// When the fault affected the packet.
  public let time: Instant

  /// Returns the side that sent the packet, given the end where the fault acts.
  public func sender(at end: Cable.End) -> Cable.End { direction == .out ? end : end.other }
}

extension Cable {
  /// Returns the cable with these faults applied at this end. On native channels, which have no packets, each transfer
  /// counts as a packet. Faults measure bytes and time separately for each channel, but a fault that cuts one channel
  /// unplugs the whole cable.
  ///
  /// - Parameters:
  ///   - random: called once for each channel.
  ///   - made: called with each new channel.
  ///   - struck: called for each packet of the main channel that a packet fault affects.
  public func faulty(
    _ faults: [Fault], mayChange: Bool = false, random: @escaping () -> SeededRandom, on loop: any EventLoop,
    made: @escaping (FaultChannel) -> Void = { _ in }, report: @escaping (FaultEvent) -> Void = { _ in },
    struck: ((FaultStrike) -> Void)? = nil
  ) -> Cable {
    guard !faults.isEmpty || mayChange else { return self }
    let mayCut = hasNativeChannels && (mayChange || faults.contains(where: \.cuts))
    weak var main: SeverableChannel?
    return wrapped(
      main: { bare in
        var inner = bare
        if mayCut {
          let severable = SeverableChannel(around: bare, on: loop)
          main = severable
          inner = severable
        }
        let channel = FaultChannel(
          around: inner, faults, random: random(), on: loop, report: report, struck: struck)
        made(channel)
        return channel
      },
      side: { name, inner in
        let channel = FaultChannel(around: inner, faults, random: random(), unit: .transfers, on: loop) { event in
          report(event)
          if event.fault.cuts { main?.pull() }
        }
        made(channel)
        return channel
      })
  }
}
