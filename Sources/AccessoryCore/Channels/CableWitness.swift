/// Observes one channel of a cable at one end: a transcript, a capture, rules of the wire. It changes nothing.
public protocol CableWitness: AnyObject {
  /// The owner of this end begins to receive.
  func began(_ owner: any ChannelHandler)

  /// Bytes passed, sent by `end`; on a native channel they are one transfer.
  func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant)

  /// The owner of this end has handled bytes that it received.
  func handled()

  /// The channel is over; `reason` is nil when its owner at this end closed it.
  func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant)
}

extension CableWitness {
  /// Nothing.
  public func began(_ owner: any ChannelHandler) {}

  /// Nothing.
  public func handled() {}

  /// Nothing.
  public func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant) {}
}

extension Cable {
  /// The ends of a cable.
  public enum End: String, Sendable {
    /// The accessory.
    case accessory = "A"
    /// The device.
    case device = "D"

    /// The opposite one.
    public var other: End { self == .accessory ? .device : .accessory }

    /// What is written where this end sees the end of a channel; `protocolName` is that of a native channel.
    public func note(of reason: ChannelEnd?, _ protocolName: String?) -> String {
      let side = protocolName.map { " SIDE \($0)" } ?? ""
      return reason.map { "\(rawValue) sees\(side) that \($0)" } ?? "\(rawValue) closed\(side)"
    }
  }

  /// The same cable with a witness at this end of it for each of its channels; `witness` makes it, given the protocol of
  /// a native channel. It pauses while `gate` is closed.
  public func witnessed(
    at end: End, on loop: any EventLoop, gate: CableGate? = nil,
    by witness: @escaping (_ protocolName: String?) -> any CableWitness
  ) -> Cable {
    wrapped(
      main: { WitnessedChannel($0, at: end, by: witness(nil), gate: gate, on: loop) },
      side: { WitnessedChannel($1, at: end, by: witness($0), gate: gate, on: loop) })
  }
}

/// A channel around another that reports to a witness what passes at this end, and pauses while its gate is closed.
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

  /// Reports to `witness` what passes at this end of a cable.
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

  /// Sends, and reports what was accepted.
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

  /// Closes, and reports that.
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
    let last = handler
    handler = nil
    last?.channel(self, endedWith: ending)
  }
}

/// Pauses cables while the file of a transcript or capture is written more slowly than bytes pass.
///
/// Such a file must be complete. Its writer closes the gate when too much is waiting, and opens it again when
/// it is written. While the gate is closed, nothing is read from the cables and `send` takes nothing. The other end
/// of a cable sees a line that carries nothing, and may give up when its own timeouts expire.
///
/// Belongs to the loop of the cables.
public final class CableGate {
  /// Whether cables may send and receive.
  public private(set) var isOpen = true
  private var channels: [Weak<WitnessedChannel>] = []

  /// An open gate. Pass it to ``Cable/witnessed(at:on:gate:by:)``.
  public init() {}

  func add(_ channel: WitnessedChannel) {
    channels.removeAll { $0.object == nil }
    channels.append(Weak(channel))
  }

  /// Pauses all cables. May be called from within `send` and from within `received`.
  public func close() {
    guard isOpen else { return }
    isOpen = false
    for entry in channels { entry.object?.gateClosed() }
  }

  /// Resumes all cables. Call it in a turn of its own, because waiting senders send at once.
  public func open() {
    guard !isOpen else { return }
    isOpen = true
    // The first cable to resume may fill the queue and close the gate again.
    for entry in channels where isOpen { entry.object?.gateOpened() }
  }
}
