// Instants, hex and byte queues are part of this module's own interface.
@_exported import WireBasics

/// A byte pipe between an accessory and a device: memory, socket, pty, serial line, USB bulk pair.
///
/// A channel belongs to one loop and is used only on it. It guarantees order and nothing else: bytes may arrive split
/// or joined in any way. It suits media that complete transfers (USB) and media that become ready (sockets): `send`
/// returns how much it accepted, and ``ChannelHandler/channelIsWritable(_:)`` is called when there is room again.
///
/// The life of a channel: made, ``start(_:)`` once, any number of sends and receptions, and exactly one end: either
/// ``close()`` by its owner, after which the handler is not called any more, or
/// ``ChannelHandler/channel(_:endedWith:)``, after which `send` accepts nothing.
///
/// **The end while reading is paused.** If nothing is unread, the end is reported at once. If bytes are unread, an orderly end
/// waits for ``resumeReading()``, because those bytes come first. Two ends do not wait, and drop the unread bytes:
///
/// - the other end is lost, by a reset, a hang-up or an unplugged device;
/// - the other end is gone and a `send` was partial, so that the owner would wait for room for ever.
///
/// Such an end is never ``ChannelEnd/closedByPeer``, and its text has the number of unread bytes.
///
/// Faults and transcripts are channels around a channel.
public protocol Channel: AnyObject {
  /// Whether one `send` is one transfer on the medium (USB). If so, a sender sends packets one by one; otherwise it
  /// may combine them in one `send`. Readers never rely on it.
  var keepsTransfersApart: Bool { get }

  /// How many bytes of one `send` the medium carries in one frame; nil where it has no frames. Packets that fit are cheaper.
  var longestTransfer: Int? { get }

  /// Begins to receive. The handler is held until the end, and never called from within `start` or `send`.
  func start(_ handler: any ChannelHandler)

  /// Accepts bytes to send and returns how many, from the front; 0 when there is no room or no other end. After a
  /// partial send, `channelIsWritable` is called when there is room again.
  func send(_ bytes: RawSpan) -> Int

  /// Sends `head` and then `body`, like ``send(_:)``, and returns how many bytes of both it accepted. For a sender
  /// that would otherwise copy a large body after a small head; where transfers are kept apart they may be two.
  func send(_ head: RawSpan, then body: RawSpan) -> Int

  /// How many of the accepted bytes have not reached the other end yet; 0 where the medium does not report this.
  /// Sessions without acknowledgements use it.
  var undelivered: Int { get }

  /// Stops `received` until ``resumeReading()``, and with it, where the medium can, the other side's sending.
  func pauseReading()

  /// Continues after ``pauseReading()``.
  func resumeReading()

  /// Ends the channel from this end. Accepted bytes are still sent where the medium allows. Closing an ended channel
  /// does nothing.
  func close()
}

extension Channel {
  /// The medium does not report it.
  public var undelivered: Int { 0 }

  /// The medium has no frames.
  public var longestTransfer: Int? { nil }

  /// One after the other.
  public func send(_ head: RawSpan, then body: RawSpan) -> Int {
    let taken = send(head)
    return taken < head.byteCount ? taken : taken + send(body)
  }
}

/// Receives the events of a channel. Calls come on the channel's loop, never from inside a call to the channel.
public protocol ChannelHandler: AnyObject {
  /// Bytes arrived. They live until this call returns; what must outlive it is copied.
  func channel(_ channel: any Channel, received bytes: RawSpan)

  /// There is room again after a `send` that took less than it was given.
  func channelIsWritable(_ channel: any Channel)

  /// The channel is over and will never call again.
  func channel(_ channel: any Channel, endedWith end: ChannelEnd)
}

/// Why a channel is over.
public enum ChannelEnd: Error, Equatable, Sendable, CustomStringConvertible {
  /// The other end closed it in order, or unplugged.
  case closedByPeer
  /// The other end is gone without saying so: a reset, a hang-up, a device that vanished.
  case lost(String)
  /// This end failed; the text has the system's reason.
  case failed(String)

  /// This end for a paused channel that drops `unread` bytes. Bytes are dropped only by a loss, so ``closedByPeer`` becomes one.
  public func dropping(unread: Int) -> ChannelEnd {
    if unread == 0 { return self }
    let dropped = "\(unread) of its bytes were not read"
    return switch self {
    case .closedByPeer: .lost("it closed the channel; \(dropped)")
    case .lost(let why): .lost("\(why); \(dropped)")
    case .failed(let what): .failed("\(what); \(dropped)")
    }
  }

  /// A sentence fragment for messages: "the other end closed the channel".
  public var description: String {
    switch self {
    case .closedByPeer: "the other end closed the channel"
    case .lost(let what): "the other end is gone (\(what))"
    case .failed(let what): "the channel failed: \(what)"
    }
  }
}
