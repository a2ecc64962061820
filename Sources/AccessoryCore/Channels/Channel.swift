// Exported because this module's public interface uses the instants, hex formatting and byte queues of WireBasics.
@_exported import WireBasics

/// A byte pipe between an accessory and a device: memory, a socket, a pty, a serial line or a USB bulk pair.
///
/// A channel belongs to one loop, and may be used only on that loop. A channel guarantees only the order of bytes,
/// which may arrive split or joined in any way. `send` returns how many bytes it accepted, and
/// ``ChannelHandler/channelIsWritable(_:)`` is called when there is room again. This design suits both media that
/// complete transfers (USB) and media that become ready (sockets).
///
/// A channel is started once, with ``start(_:)``, sends and receives any number of times, and ends exactly once. A
/// channel ends either when the owner calls ``close()``, after which the handler is not called again, or when the
/// channel calls ``ChannelHandler/channel(_:endedWith:)``, after which `send` accepts nothing.
///
/// **If the channel ends while reading is paused.** If no bytes are unread, the end is reported immediately. If bytes
/// are unread, an orderly end is reported only after ``resumeReading()``, because the bytes are delivered first. In two
/// cases, the end is reported immediately and the unread bytes are dropped:
///
/// - the peer is lost, because of a reset, a hang-up or an unplugged device;
/// - the peer is gone after a partial `send`, in which case the owner would otherwise wait for room forever.
///
/// If unread bytes are dropped, the reported ``ChannelEnd`` is never ``ChannelEnd/closedByPeer``, and its text gives
/// the number of dropped bytes.
///
/// Faults and transcripts are channels that wrap other channels.
public protocol Channel: AnyObject {
  /// Whether each `send` is one transfer on the medium, as on USB. If transfers are kept apart, packets are sent one by
  /// one; otherwise, a sender may combine several packets in one `send`. Readers must not rely on the boundaries
  /// between transfers.
  var keepsTransfersApart: Bool { get }

  /// The largest `send` that fits into one of the medium's frames, or nil if the medium has no frames. A packet is
  /// cheaper to send if it fits into one frame.
  var longestTransfer: Int? { get }

  /// Starts receiving. The handler is retained until the channel ends, and is never called during `start` or `send`.
  func start(_ handler: any ChannelHandler)

  /// Accepts bytes to send, starting with the first, and returns how many were accepted. Returns 0 if there is no room
  /// or the peer is gone. After a partial send, `channelIsWritable` is called when there is room again.
  func send(_ bytes: RawSpan) -> Int

  /// Sends `head` and then `body`, like ``send(_:)``, and returns how many bytes were accepted in total. With this
  /// method, senders need not copy a small head and a large body into one buffer. On media that keep transfers apart,
  /// head and body may become two transfers.
  func send(_ head: RawSpan, then body: RawSpan) -> Int

  /// The number of accepted bytes that have not reached the peer, or 0 if the medium does not report this. Sessions on
  /// a link without acknowledgements use this number.
  var undelivered: Int { get }

  /// Suspends calls to `received` until ``resumeReading()``; if possible, the medium also makes the peer stop sending.
  func pauseReading()

  /// Resumes receiving after ``pauseReading()``.
  func resumeReading()

  /// Closes the channel at this end. Bytes already accepted are still sent if the medium allows it. Closing a channel
  /// that has ended has no effect.
  func close()
}

extension Channel {
  /// Returns 0 by default, for media that do not report undelivered bytes.
  public var undelivered: Int { 0 }

  /// Returns nil by default, for media without frames.
  public var longestTransfer: Int? { nil }

  /// Sends `head` and then `body` in two calls by default.
  public func send(_ head: RawSpan, then body: RawSpan) -> Int {
    let taken = send(head)
    return taken < head.byteCount ? taken : taken + send(body)
  }
}

/// Receives a channel's events. The handler is called on the channel's loop, and never during a call to the channel.
public protocol ChannelHandler: AnyObject {
  /// Called when bytes have arrived. The bytes are valid only during this call; copy any that are needed later.
  func channel(_ channel: any Channel, received bytes: RawSpan)

  /// Called when there is room again after a partial `send`.
  func channelIsWritable(_ channel: any Channel)

  /// Called when the channel has ended; no other call follows.
  func channel(_ channel: any Channel, endedWith end: ChannelEnd)
}

/// The reason a channel ended.
public enum ChannelEnd: Error, Equatable, Sendable, CustomStringConvertible {
  /// The peer closed the channel in an orderly way, or was unplugged.
  case closedByPeer
  /// The peer vanished without closing the channel, because of a reset, a hang-up or a device that disappeared.
  case lost(String)
  /// This end failed; the text gives the system's reason.
  case failed(String)

  /// Returns the value to report when a paused channel ends and drops `unread` bytes. ``closedByPeer`` becomes a loss,
  /// because an orderly end never drops bytes.
  public func dropping(unread: Int) -> ChannelEnd {
    if unread == 0 { return self }
    let dropped = "\(unread) of its bytes were not read"
    return switch self {
    case .closedByPeer: .lost("it closed the channel; \(dropped)")
    case .lost(let why): .lost("\(why); \(dropped)")
    case .failed(let what): .failed("\(what); \(dropped)")
    }
  }

  /// A sentence fragment for messages, such as "the other end closed the channel".
  public var description: String {
    switch self {
    case .closedByPeer: "the other end closed the channel"
    case .lost(let what): "the other end is gone (\(what))"
    case .failed(let what): "the channel failed: \(what)"
    }
  }
}
