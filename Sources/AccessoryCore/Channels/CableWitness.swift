/// Observes one channel at one end of a cable without changing anything, for a transcript, a capture or a check.
public protocol CableWitness: AnyObject {
  /// Called when the owner of this end has started to receive bytes.
  func began(_ owner: any ChannelHandler)

  /// Called when bytes that `end` sent have passed through the channel. On a native channel, each call reports one
  /// transfer.
  func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant)

  /// Called when a fault has affected a packet that `end` sent.
  func struck(_ packet: RawSpan, by fault: String, from end: Cable.End, at time: Instant)

  /// Called when the owner of this end has handled the bytes that arrived.
  func handled()

  /// Called when the channel has ended; `reason` is nil if the owner at this end closed it.
  func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant)
}

extension CableWitness {
  /// The default implementation does nothing.
  public func began(_ owner: any ChannelHandler) {}

  /// The default implementation does nothing.
  public func struck(_ packet: RawSpan, by fault: String, from end: Cable.End, at time: Instant) {}

  /// The default implementation does nothing.
  public func handled() {}

  /// The default implementation does nothing.
  public func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant) {}
}

extension Cable {
  /// The ends of a cable.
  public enum End: String, Sendable {
    case accessory = "A"
    case device = "D"

    /// The opposite end.
    public var other: End { self == .accessory ? .device : .accessory }

    /// Returns the note to write when this end notices that a channel has ended. `protocolName` is the protocol of a
    /// native channel.
    public func note(of reason: ChannelEnd?, _ protocolName: String?) -> String {
      let side = protocolName.map { " SIDE \($0)" } ?? ""
      return reason.map { "\(rawValue) sees\(side) that \($0)" } ?? "\(rawValue) closed\(side)"
    }
  }

  /// Returns this cable with an observer for each of its channels at this end. `witness` is called to create each
  /// observer; for a native channel, it is passed the channel's protocol. The cable pauses while `gate` is closed.
  public func witnessed(
    at end: End, on loop: any EventLoop, gate: CableGate? = nil,
    by witness: @escaping (_ protocolName: String?) -> any CableWitness
  ) -> Cable {
    wrapped(
      main: { WitnessedChannel($0, at: end, by: witness(nil), gate: gate, on: loop) },
      side: { WitnessedChannel($1, at: end, by: witness($0), gate: gate, on: loop) })
  }
}

/// Wraps a channel, reports the bytes that pass this end to a witness, and pauses while a gate is closed.
public final class WitnessedChannel: Channel, ChannelHandler {
  private let inner: any Channel
  private let loop: any EventLoop
  private let witness: any CableWitness
  private let end: Cable.End
  private let gate: CableGate?
  // Overlapping access is not checked, because this code runs for every packet and only reads and assigns these
  // properties.
  @exclusivity(unchecked) private var handler: (any ChannelHandler)?
  @exclusivity(unchecked) private var isPaused = false
  @exclusivity(unchecked) private var senderWaits = false

  /// Creates a channel that reports all bytes that pass this end to `witness`.
  public init(
    _ inner: any Channel, at end: Cable.End, by witness: any CableWitness, gate: CableGate? = nil,
    on loop: any EventLoop
  ) {
    (self.inner, self.end, self.witness, self.gate, self.loop) = (inner, end, witness, gate, loop)
  }

  /// Whether each `send` to the inner channel is one transfer.
  public var keepsTransfersApart: Bool { inner.keepsTransfersApart }

  /// The inner channel's maximum frame size.
  public var longestTransfer: Int? { inner.longestTransfer }
  /// The number of bytes that the inner channel has not delivered.
  public var undelivered: Int { inner.undelivered }

  /// Starts receiving.
  public func start(_ handler: any ChannelHandler) {
    self.handler = handler
    witness.began(handler)
    inner.start(self)
    gate?.add(self)
    if isHeld { inner.pauseReading() }
  }

  private var isHeld: Bool { gate?.isOpen == false }

  /// Only reading is paused here, because `send` checks the gate itself.
  func gateClosed() {
    if handler != nil, !isPaused { inner.pauseReading() }
  }

  /// Resumes reading unless the handler has paused it, and notifies the sender if its bytes were refused.
  func gateOpened() {
    guard handler != nil else { return }
    if !isPaused { inner.resumeReading() }
    guard senderWaits else { return }
    senderWaits = false
    handler?.channelIsWritable(self)
  }

  /// Sends bytes, and reports those that were accepted.
  public func send(_ bytes: RawSpan) -> Int {
    if isHeld {
      senderWaits = true
      return 0
    }
    let taken = inner.send(bytes)
    if taken > 0 { witness.passed(bytes.extracting(0..<taken), from: end, at: loop.now) }
    return taken
  }

  /// Pauses reading from the inner channel.
  public func pauseReading() {
    isPaused = true
    inner.pauseReading()
  }

  /// Resumes reading from the inner channel. If the gate is closed, reading resumes when the gate opens.
  public func resumeReading() {
    isPaused = false
    if !isHeld { inner.resumeReading() }
  }

  /// Closes the channel, and reports that it has ended.
  public func close() {
    if handler != nil { witness.ended(at: end, nil, at: loop.now) }
    handler = nil
    inner.close()
  }

  /// Reports received bytes, and passes them to the handler.
  public func channel(_ channel: any Channel, received bytes: RawSpan) {
    witness.passed(bytes, from: end.other, at: loop.now)
    handler?.channel(self, received: bytes)
    witness.handled()
  }

  /// Notifies the handler that there is room again, unless the gate is closed.
  public func channelIsWritable(_ channel: any Channel) {
    handler?.channelIsWritable(self)
  }

  /// Reports that the inner channel has ended, and notifies the handler.
  public func channel(_ channel: any Channel, endedWith ending: ChannelEnd) {
    witness.ended(at: end, ending, at: loop.now)
    let last = handler
    handler = nil
    last?.channel(self, endedWith: ending)
  }
}

/// Pauses cables while a transcript or capture cannot be written to its file as fast as bytes arrive.
///
/// A transcript or capture must be complete, so its writer closes the gate when too many bytes are waiting to be
/// written, and opens it again later. While the gate is closed, nothing is read from the cables and `send` accepts
/// nothing. To the peer, a closed gate looks like an idle line, so the peer may give up when its own timeouts expire.
///
/// A gate belongs to the same loop as its cables.
public final class CableGate {
  /// Whether cables are allowed to send and receive.
  public private(set) var isOpen = true
  private var channels: [Weak<WitnessedChannel>] = []

  /// Creates an open gate, to be passed to ``Cable/witnessed(at:on:gate:by:)``.
  public init() {}

  func add(_ channel: WitnessedChannel) {
    channels.removeAll { $0.object == nil }
    channels.append(Weak(channel))
  }

  /// Pauses all cables. It is safe to call this method during `send` and `received`.
  public func close() {
    guard isOpen else { return }
    isOpen = false
    for entry in channels { entry.object?.gateClosed() }
  }

  /// Resumes all cables. Call this method in a separate turn of the loop, because waiting senders send immediately.
  public func open() {
    guard !isOpen else { return }
    isOpen = true
    // As soon as one cable resumes, it may fill the queue and close the gate again.
    for entry in channels where isOpen { entry.object?.gateOpened() }
  }
}
