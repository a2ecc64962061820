/// The place where a channel is watched: a channel around another that tells a witness what passes at this end of it, and
/// pauses while its gate is closed.
public final class WitnessedChannel: Channel, ChannelHandler {
  private let inner: any Channel
  private let loop: any EventLoop
  private let witness: any CableWitness
  private let end: Cable.End
  private let gate: CableGate?
  private var handler: (any ChannelHandler)?
  /// Whether the handler paused reading.
  private var isPaused = false
  /// Whether `send` refused something because the gate was closed.
  private var senderWaits = false

  /// Tells `witness` what passes at this end of a cable.
  public init(
    _ inner: any Channel, at end: Cable.End, by witness: any CableWitness, gate: CableGate? = nil,
    on loop: any EventLoop
  ) {
    (self.inner, self.end, self.witness, self.gate, self.loop) = (inner, end, witness, gate, loop)
  }

  /// As the channel inside.
  public var keepsTransfersApart: Bool { inner.keepsTransfersApart }

  /// As the channel inside.
  public var longestTransfer: Int? { inner.longestTransfer }
  /// As the channel inside.
  public var undelivered: Int { inner.undelivered }

  /// Begins to receive.
  public func start(_ handler: any ChannelHandler) {
    self.handler = handler
    witness.began(handler)
    inner.start(self)
    gate?.add(self)
    if isHeld { inner.pauseReading() }
  }

  private var isHeld: Bool { gate?.isOpen == false }

  /// Pauses reading; `send` checks the gate itself.
  func gateClosed() {
    if handler != nil, !isPaused { inner.pauseReading() }
  }

  /// Resumes reading, unless the handler paused it, and notifies a sender that was refused.
  func gateOpened() {
    guard handler != nil else { return }
    if !isPaused { inner.resumeReading() }
    guard senderWaits else { return }
    senderWaits = false
    handler?.channelIsWritable(self)
  }

  /// Sends, and tells what was accepted.
  public func send(_ bytes: RawSpan) -> Int {
    if isHeld {
      senderWaits = true
      return 0
    }
    let taken = inner.send(bytes)
    if taken > 0 { witness.passed(bytes.extracting(0..<taken), from: end, at: loop.now) }
    return taken
  }

  /// As the channel inside.
  public func pauseReading() {
    isPaused = true
    inner.pauseReading()
  }

  /// As the channel inside; while the gate is closed, takes effect when it opens.
  public func resumeReading() {
    isPaused = false
    if !isHeld { inner.resumeReading() }
  }

  /// Closes, and tells that.
  public func close() {
    if handler != nil { witness.ended(at: end, nil, at: loop.now) }
    handler = nil
    inner.close()
  }

  /// Bytes came from the other end.
  public func channel(_ channel: any Channel, received bytes: RawSpan) {
    witness.passed(bytes, from: end.other, at: loop.now)
    handler?.channel(self, received: bytes)
    witness.handled()
  }

  /// There is room again.
  public func channelIsWritable(_ channel: any Channel) {
    handler?.channelIsWritable(self)
  }

  /// The channel inside is over.
  public func channel(_ channel: any Channel, endedWith ending: ChannelEnd) {
    witness.ended(at: end, ending, at: loop.now)
    let told = handler
    handler = nil
    told?.channel(self, endedWith: ending)
  }
}
