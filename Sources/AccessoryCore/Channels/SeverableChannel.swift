/// A wrapper that can be cut off from its inner channel, with or without notice: to unplug a cable whose ends are in
/// different processes, or to make a device believe that the accessory is still connected.
///
/// ```swift
/// let cable = SeverableChannel(around: socket, on: loop)
/// cable.pull()     // here the cable is reported as lost, at the other end as closed
/// ```
public final class SeverableChannel: Channel, ChannelHandler {
  private enum State {
    case made
    case open
    /// Accepts everything, delivers nothing, and never ends by itself.
    case severed
    case over
  }

  private let inner: any Channel
  private let loop: any EventLoop
  // Not checked for overlapping access, because this runs for every packet, on one loop.
  @exclusivity(unchecked) private var state = State.made
  /// The handler, while the channel is open.
  @exclusivity(unchecked) private var handler: (any ChannelHandler)?
  /// The end that has not been reported yet.
  private var ending: LoopTimer?

  /// Creates a channel around `inner`.
  public init(around inner: any Channel, on loop: any EventLoop) {
    self.inner = inner
    self.loop = loop
  }

  /// Whether the channel has ended, for whatever reason.
  public var isOver: Bool {
    state == .over
  }

  /// Unplugs the cable: the other end sees the channel end, and this end reports, in a later turn, that it is lost.
  /// Bytes in transit to this end are lost.
  public func pull() {
    guard let handler = leave() else { return close() }
    inner.close()
    ending = loop.schedule(after: .zero) { [self] in
      ending = nil
      handler.channel(self, endedWith: .lost("the cable was pulled"))
    }
  }

  /// Cuts off the inner channel unnoticed: this end keeps sending, and nothing arrives at either end.
  public func sever() {
    switch state {
    case .made, .open:
      state = .severed
      handler = nil
      inner.close()
    case .severed, .over: break
    }
  }

  // MARK: - Channel

  /// Forwarded to the inner channel.
  public var keepsTransfersApart: Bool { inner.keepsTransfersApart }

  /// Forwarded to the inner channel.
  public var longestTransfer: Int? { inner.longestTransfer }
  /// Forwarded to the inner channel.
  public var undelivered: Int { inner.undelivered }

  /// Begins to receive.
  public func start(_ handler: any ChannelHandler) {
    guard state == .made else { return }
    state = .open
    self.handler = handler
    inner.start(self)
  }

  /// Accepts what the inner channel accepts; once cut off, it accepts everything.
  public func send(_ bytes: RawSpan) -> Int {
    switch state {
    case .open: inner.send(bytes)
    case .severed: bytes.byteCount
    case .made, .over: 0
    }
  }

  /// Forwarded to the inner channel.
  public func pauseReading() {
    switch state {
    case .made, .open: inner.pauseReading()
    case .severed, .over: break
    }
  }

  /// Forwarded to the inner channel.
  public func resumeReading() {
    switch state {
    case .made, .open: inner.resumeReading()
    case .severed, .over: break
    }
  }

  /// Closes the channel at this end; the handler is not called any more.
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

  // MARK: - The channel inside

  /// Bytes arrived.
  public func channel(_ channel: any Channel, received bytes: RawSpan) {
    handler?.channel(self, received: bytes)
  }

  /// There is room again.
  public func channelIsWritable(_ channel: any Channel) {
    handler?.channelIsWritable(self)
  }

  /// The inner channel has ended.
  public func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    leave()?.channel(self, endedWith: end)
  }

  /// Ends the channel, and returns the handler to notify; nil if the channel was not open.
  private func leave() -> (any ChannelHandler)? {
    guard state == .open else { return nil }
    state = .over
    defer { handler = nil }
    return handler
  }
}
