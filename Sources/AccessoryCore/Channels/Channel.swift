// Instants, hex and byte queues are part of this module's public interface.
@_exported import WireBasics

/// A byte pipe between an accessory and a device: memory, a socket, a pty, a serial line, a USB bulk pair.
///
/// A channel belongs to one loop and is used only on it. It guarantees only order: bytes may arrive split or joined in
/// any way. It suits media that complete transfers (USB) and media that become ready (sockets): `send` returns how much
/// it accepted, and ``ChannelHandler/channelIsWritable(_:)`` is called when there is room again.
///
/// The life of a channel: it is created, started once with ``start(_:)``, sends and receives any number of times, and
/// ends exactly once: either through ``close()`` by its owner, after which the handler is not called any more, or
/// through ``ChannelHandler/channel(_:endedWith:)``, after which `send` accepts nothing.
///
/// **The end while reading is paused.** If nothing is unread, the end is reported at once. If bytes are unread, an
/// orderly end waits for ``resumeReading()``, because those bytes are delivered first. In two cases the end does not
/// wait, and the unread bytes are dropped:
///
/// - the other end is lost through a reset, a hang-up or an unplugged device;
/// - the other end is gone and a `send` was partial, so that the owner would wait for room forever.
///
/// Such an end is never ``ChannelEnd/closedByPeer``, and its text contains the number of unread bytes.
///
/// Faults and transcripts are channels around a channel.
public protocol Channel: AnyObject {
  /// Whether one `send` is one transfer on the medium (USB). If so, a sender sends packets one by one; otherwise it may
  /// combine them in one `send`. Readers must not rely on it.
  var keepsTransfersApart: Bool { get }

  /// How many bytes of one `send` the medium carries in one frame; nil if it has no frames. Packets that fit are
  /// cheaper.
  var longestTransfer: Int? { get }

  /// Begins to receive. The handler is retained until the end, and never called from within `start` or `send`.
  func start(_ handler: any ChannelHandler)

  /// Accepts bytes to send, from the front, and returns how many; 0 if there is no room or no other end. After a
  /// partial send, `channelIsWritable` is called when there is room again.
  func send(_ bytes: RawSpan) -> Int

  /// Sends `head` and then `body`, like ``send(_:)``, and returns how many bytes of both it accepted. For senders that
  /// would otherwise copy a large body after a small head. On media that keep transfers apart, head and body may become
  /// two transfers.
  func send(_ head: RawSpan, then body: RawSpan) -> Int

  /// How many of the accepted bytes have not reached the other end yet; 0 if the medium does not report this. Sessions
  /// without acknowledgements use it.
  var undelivered: Int { get }

  /// Stops `received` until ``resumeReading()``, and also the other side's sending if the medium can do so.
  func pauseReading()

  /// Continues after ``pauseReading()``.
  func resumeReading()

  /// Ends the channel from this end. Accepted bytes are still sent if the medium allows it. Closing an ended channel
  /// does nothing.
  func close()
}

extension Channel {
  /// The default, for media that do not report this.
  public var undelivered: Int { 0 }

  /// The default, for media without frames.
  public var longestTransfer: Int? { nil }

  /// The default: sends one after the other.
  public func send(_ head: RawSpan, then body: RawSpan) -> Int {
    let taken = send(head)
    return taken < head.byteCount ? taken : taken + send(body)
  }
}

/// Receives the events of a channel. Calls come on the channel's loop, never from inside a call to the channel.
public protocol ChannelHandler: AnyObject {
  /// Bytes arrived. They are valid until this call returns; copy what is needed longer.
  func channel(_ channel: any Channel, received bytes: RawSpan)

  /// There is room again after a partial `send`.
  func channelIsWritable(_ channel: any Channel)

  /// The channel has ended and makes no more calls.
  func channel(_ channel: any Channel, endedWith end: ChannelEnd)
}

/// Why a channel has ended.
public enum ChannelEnd: Error, Equatable, Sendable, CustomStringConvertible {
  /// The other end closed it in an orderly way, or was unplugged.
  case closedByPeer
  /// The other end vanished without closing: a reset, a hang-up, a device that disappeared.
  case lost(String)
  /// This end failed; the text contains the system's reason.
  case failed(String)

  /// Returns the end to report for a paused channel that drops `unread` bytes. Only a loss drops bytes, so
  /// ``closedByPeer`` becomes a loss.
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
