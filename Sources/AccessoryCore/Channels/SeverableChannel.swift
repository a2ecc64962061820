/// Wraps a channel so that the channel can be disconnected, with or without a notification. Use it to unplug a cable
/// whose ends are in different processes, or to make a device believe that the accessory is still connected.
///
/// ```swift
/// let cable = SeverableChannel(around: socket, on: loop)
/// cable.pull()     // reported as lost at this end, and as closed at the other end
/// ```
public final class SeverableChannel: Channel, ChannelHandler {
  private enum State {
    case made
    case open
    /// The channel is disconnected: it accepts everything, delivers nothing, and ends only when it is closed.
    case severed
    case over
  }

  private let inner: any Channel
  private let loop: any EventLoop
  // Overlapping access is not checked, because this code runs for every packet, on one loop.
  @exclusivity(unchecked) private var state = State.made
  @exclusivity(unchecked) private var handler: (any ChannelHandler)?
  /// The timer that makes the channel report its end in a later turn.
  private var ending: LoopTimer?

  /// Creates a channel around `inner`.
  public init(around inner: any Channel, on loop: any EventLoop) {
    self.inner = inner
    self.loop = loop
  }

  /// Whether the channel has ended for any reason.
  public var isOver: Bool { state == .over }

  private var isConnected: Bool { state == .made || state == .open }

  /// Unplugs the cable: the other end sees the channel end, and this end reports a loss in a later turn. Bytes in
  /// transit to this end are lost.
  public func pull() {
    guard let handler = leave() else { return close() }
    inner.close()
    ending = loop.schedule(after: .zero) { [self] in
      ending = nil
      handler.channel(self, endedWith: .lost("the cable was pulled"))
    }
  }

  /// Disconnects the inner channel without a notification: this end can keep sending, but nothing arrives at either
  /// end.
  public func sever() {
    guard isConnected else { return }
    state = .severed
    handler = nil
    inner.close()
  }

  // MARK: - Channel

  /// Whether each `send` to the inner channel is one transfer.
  public var keepsTransfersApart: Bool { inner.keepsTransfersApart }

  /// The inner channel's maximum frame size.
  public var longestTransfer: Int? { inner.longestTransfer }
  /// The number of bytes that the inner channel has not delivered.
  public var undelivered: Int { inner.undelivered }

  /// Starts receiving.
  public func start(_ handler: any ChannelHandler) {
    guard state == .made else { return }
    state = .open
    self.handler = handler
    inner.start(self)
  }

  /// Accepts as many bytes as the inner channel does, or all bytes once the channel is disconnected.
  public func send(_ bytes: RawSpan) -> Int {
    switch state {
    case .open: inner.send(bytes)
    case .severed: bytes.byteCount
    case .made, .over: 0
    }
  }

  /// Pauses reading from the inner channel.
  public func pauseReading() {
    if isConnected { inner.pauseReading() }
  }

  /// Resumes reading from the inner channel.
  public func resumeReading() {
    if isConnected { inner.resumeReading() }
  }

  /// Closes the channel at this end; the handler is not called again.
  public func close() {
    if state == .over {
      ending?.cancel()
      ending = nil
      return
    }
    state = .over
    handler = nil
    inner.close()
  }

  // MARK: - The inner channel

  /// Passes received bytes to the handler.
  public func channel(_ channel: any Channel, received bytes: RawSpan) {
    handler?.channel(self, received: bytes)
  }

  /// Notifies the handler that there is room again.
  public func channelIsWritable(_ channel: any Channel) {
    handler?.channelIsWritable(self)
  }

  /// Notifies the handler that the inner channel has ended.
  public func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    leave()?.channel(self, endedWith: end)
  }

  /// Ends the channel, and returns the handler to notify, or nil if the channel was not open.
  private func leave() -> (any ChannelHandler)? {
    guard state == .open else { return nil }
    state = .over
    defer { handler = nil }
    return handler
  }
}
