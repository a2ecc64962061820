import AccessoryCore

/// A channel around a channel that can be severed from it on purpose, noticed or not: how a cable is pulled where its two
/// ends are in different processes, and how a device is left believing that somebody is there.
///
/// ```swift
/// let cable = SeverableChannel(around: socket, on: loop)
/// cable.pull()     // this end hears that the cable is lost, the other that it is closed
/// ```
public final class SeverableChannel: Channel, ChannelHandler {
  private enum State {
    case made
    case open
    /// Takes everything, brings nothing, and never ends by itself.
    case severed
    case over
  }

  private let inner: any Channel
  private let loop: any EventLoop
  // Asked for every packet, by one loop: not checked for overlapping access.
  @exclusivity(unchecked) private var state = State.made
  /// Who hears of it while it is open.
  @exclusivity(unchecked) private var handler: (any ChannelHandler)?
  /// The end that is yet to be told.
  private var ending: LoopTimer?

  /// A channel around `inner`.
  public init(around inner: any Channel, on loop: any EventLoop) {
    self.inner = inner
    self.loop = loop
  }

  /// Whether it has ended, from whichever side.
  public var isOver: Bool {
    state == .over
  }

  /// Pulls the cable: the other end sees the channel end, and this end hears, in a later turn, that it is lost. What was
  /// under way to this end is lost with it.
  public func pull() {
    guard let handler = leave() else { return close() }
    inner.close()
    ending = loop.schedule(after: .zero) { [self] in
      ending = nil
      handler.channel(self, endedWith: .lost("the cable was pulled"))
    }
  }

  /// Severs the channel inside without a word: this end goes on sending, and nothing arrives anywhere.
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

  /// As the channel inside.
  public var keepsTransfersApart: Bool { inner.keepsTransfersApart }
  /// As the channel inside.
  public var undelivered: Int { inner.undelivered }

  /// Begins to receive.
  public func start(_ handler: any ChannelHandler) {
    guard state == .made else { return }
    state = .open
    self.handler = handler
    inner.start(self)
  }

  /// Takes what the channel inside takes; everything, once severed from it.
  public func send(_ bytes: RawSpan) -> Int {
    switch state {
    case .open: inner.send(bytes)
    case .severed: bytes.byteCount
    case .made, .over: 0
    }
  }

  /// As the channel inside.
  public func pauseReading() {
    switch state {
    case .made, .open: inner.pauseReading()
    case .severed, .over: break
    }
  }

  /// As the channel inside.
  public func resumeReading() {
    switch state {
    case .made, .open: inner.resumeReading()
    case .severed, .over: break
    }
  }

  /// Ends the channel from this side, and whatever was to be heard of it.
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

  /// The channel inside is over.
  public func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    leave()?.channel(self, endedWith: end)
  }

  /// Is over, and says who is to hear of it: nobody, when it was not open.
  private func leave() -> (any ChannelHandler)? {
    guard state == .open else { return nil }
    state = .over
    defer { handler = nil }
    return handler
  }
}
