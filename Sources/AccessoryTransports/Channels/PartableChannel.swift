import AccessoryCore

/// A channel around a channel that can be parted from it on purpose, noticed or not: how a cable is pulled where its two
/// ends are in different processes, and how a device is left believing that somebody is there.
///
/// ```swift
/// let cable = PartableChannel(around: socket, on: loop)
/// cable.pull()     // this end hears that the cable is lost, the other that it is closed
/// ```
public final class PartableChannel: Channel, ChannelHandler {
  private enum State {
    case made
    case open(any ChannelHandler)
    /// Takes everything, brings nothing, and never ends by itself.
    case parted
    case over
  }

  private let inner: any Channel
  private let loop: any EventLoop
  private var state = State.made
  /// The end that is yet to be told.
  private var ending: LoopTimer?

  /// A channel around `inner`.
  public init(around inner: any Channel, on loop: any EventLoop) {
    self.inner = inner
    self.loop = loop
  }

  /// Whether it has ended, from whichever side.
  public var isOver: Bool {
    if case .over = state { return true }
    return false
  }

  /// Pulls the cable: the other end sees the channel end, and this end hears, in a later turn, that it is lost. What was
  /// under way to this end is lost with it.
  public func pull() {
    guard case .open(let handler) = state else { return close() }
    state = .over
    inner.close()
    ending = loop.schedule(after: .zero) { [self] in
      ending = nil
      handler.channel(self, endedWith: .lost("the cable was pulled"))
    }
  }

  /// Parts from the channel inside without a word: this end goes on sending, and nothing arrives anywhere.
  public func part() {
    switch state {
    case .made, .open:
      state = .parted
      inner.close()
    case .parted, .over: break
    }
  }

  // MARK: - Channel

  /// As the channel inside.
  public var keepsTransfersApart: Bool { inner.keepsTransfersApart }
  /// As the channel inside.
  public var undelivered: Int { inner.undelivered }

  /// Begins to receive.
  public func start(_ handler: any ChannelHandler) {
    guard case .made = state else { return }
    state = .open(handler)
    inner.start(self)
  }

  /// Takes what the channel inside takes; everything, once parted from it.
  public func send(_ bytes: RawSpan) -> Int {
    switch state {
    case .open: inner.send(bytes)
    case .parted: bytes.byteCount
    case .made, .over: 0
    }
  }

  /// As the channel inside.
  public func pauseReading() {
    switch state {
    case .made, .open: inner.pauseReading()
    case .parted, .over: break
    }
  }

  /// As the channel inside.
  public func resumeReading() {
    switch state {
    case .made, .open: inner.resumeReading()
    case .parted, .over: break
    }
  }

  /// Ends the channel from this side, and whatever was to be heard of it.
  public func close() {
    if case .over = state {
      ending?.cancel()
      ending = nil
      return
    }
    state = .over
    inner.close()
  }

  // MARK: - The channel inside

  /// Bytes arrived.
  public func channel(_ channel: any Channel, received bytes: RawSpan) {
    if case .open(let handler) = state { handler.channel(self, received: bytes) }
  }

  /// There is room again.
  public func channelIsWritable(_ channel: any Channel) {
    if case .open(let handler) = state { handler.channelIsWritable(self) }
  }

  /// The channel inside is over.
  public func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    guard case .open(let handler) = state else { return }
    state = .over
    handler.channel(self, endedWith: end)
  }
}
