import AccessoryCore
import IAP2

/// A session over a native channel of the cable. The channel carries the session's bytes without packets,
/// acknowledgements or a session number.
///
/// ```
///   open ── this end closes ───────────────▶ over (closed by this end)
///     ├──── the channel ends in order ─────▶ over (closed by the other end; refused, if no byte was received)
///     └──── the channel or the link goes ──▶ over (the channel went away, the link went down)
/// ```
///
/// **Back-pressure.** Up to ``bound`` bytes wait for the reader; at that limit, reading from the channel stops, so the
/// other side's transfers stay pending. An unread session does not affect other sessions, so there is no time limit for
/// reading. A writer can write as much as the channel accepts.
final class NativeCarrier: ChannelHandler, SessionCarrier {
  /// The number of unread bytes at which reading from the channel stops.
  static let bound = 256 * 1024

  private let channel: any Channel
  /// How the session ends if this side closes it.
  private let closing: SessionEnd
  private let ended: (NativeCarrier, SessionEnd) -> Void
  private var inbox: [UInt8] = []
  private var unread = 0
  private var isAnnounced = false
  private var isPaused = false
  private let protocolName: String
  private(set) lazy var session = Session(id: 0, protocolName: protocolName, carrier: self)

  /// Creates the carrier. `ended` is called once, after the session's own handler has been notified.
  init(
    _ channel: any Channel, _ protocolName: String, closing: SessionEnd,
    ended: @escaping (NativeCarrier, SessionEnd) -> Void
  ) {
    self.channel = channel
    self.protocolName = protocolName
    self.closing = closing
    self.ended = ended
  }

  func start() {
    channel.start(self)
  }

  /// Ends the session for a reason that does not come from the channel.
  func end(_ end: SessionEnd) {
    guard session.isOpen else { return }
    channel.close()
    finish(end)
  }

  private func finish(_ end: SessionEnd) {
    session.finish(end, rest: inbox)
    inbox = []
    ended(self, end)
  }

  // MARK: The channel

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    guard session.isOpen else { return }
    bytes.withUnsafeBytes { inbox.append(contentsOf: $0) }
    unread += bytes.byteCount
    if unread >= Self.bound, !isPaused {
      isPaused = true
      channel.pauseReading()
    }
    if isAnnounced { return }
    isAnnounced = true
    session.becameReadable()
  }

  func channelIsWritable(_ channel: any Channel) {
    if session.isOpen { session.becameWritable() }
  }

  func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    guard session.isOpen else { return }
    guard end == .closedByPeer else { return finish(.channelEnded(end.description)) }
    if closing == .closedByAccessory { return finish(.closedByDevice) }
    let isUntouched = session.bytesWritten == 0 && session.bytesRead == 0 && inbox.isEmpty
    finish(isUntouched ? .refused : .closedByAccessory)
  }

  // MARK: The session

  let hasAcknowledgements = false
  /// A session on a native channel swaps its buffer with the inbox.
  var spares: SpareBuffers? { nil }

  func write(_ bytes: RawSpan, to session: Session) -> Int {
    channel.send(bytes)
  }

  func takeInbox(of session: Session, _ buffer: inout [UInt8]) {
    swap(&inbox, &buffer)
    isAnnounced = false
  }

  func consume(_ count: Int, of session: Session) {
    unread -= count
    guard isPaused, unread < Self.bound / 2 else { return }
    isPaused = false
    channel.resumeReading()
  }

  func close(_ session: Session) {
    end(closing)
  }

  func unacknowledged(_ session: Session) -> Int {
    channel.undelivered
  }
}
