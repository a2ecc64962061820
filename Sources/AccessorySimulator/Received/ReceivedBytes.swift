public import AccessoryCore
public import AccessorySessions

/// Keeps the bytes that an accessory's behavior has read from its sessions.
///
/// Each session is a single stream of bytes, regardless of how the bytes were split in transit. When a limit is
/// exceeded, the oldest bytes are dropped.
public final class ReceivedBytes {
  /// The maximum number of bytes to keep in all streams together.
  public static let most = 1 << 20
  private static let mostStreams = 1_000

  private let loop: any EventLoop
  /// The bytes that are kept: one stream for each session, in the order that the sessions were opened.
  public private(set) var streams: [Stream] = []
  private var count = 0

  /// The bytes received in one session.
  public final class Stream {
    /// The session's protocol.
    public let protocolName: String
    /// When the session was opened.
    public let began: Instant
    /// The bytes of the session that are kept.
    public fileprivate(set) var bytes = ByteQueue()
    /// The number of earlier bytes that have been dropped.
    public fileprivate(set) var dropped = 0

    init(_ protocolName: String, at began: Instant) {
      (self.protocolName, self.began) = (protocolName, began)
    }
  }

  /// Creates an empty store.
  public init(on loop: any EventLoop) { self.loop = loop }

  func watch(_ session: Session) {
    let stream = Stream(session.protocolName, at: loop.now)
    streams.append(stream)
    if streams.count > Self.mostStreams { count -= streams.removeFirst().bytes.count }
    // Only `streams` retains the stream, so dropping the stream from this list releases its bytes.
    session.witness = { [weak self, weak stream] bytes in
      if let self, let stream { add(bytes, to: stream) }
    }
  }

  private func add(_ bytes: RawSpan, to stream: Stream) {
    stream.bytes.append(bytes)
    count += bytes.byteCount
    while count > Self.most, let oldest = streams.first(where: { $0.bytes.count > 0 }) {
      let dropped = min(oldest.bytes.count, count - Self.most)
      oldest.bytes.removeFirst(dropped)
      oldest.dropped += dropped
      count -= dropped
    }
  }

  /// Searches for bytes in the streams of one protocol, or in all streams.
  ///
  /// - Parameter times: how many times the bytes are expected, or nil for at least once.
  public func search(for wanted: [UInt8], times: Int? = nil, on protocolName: String? = nil) -> ReceivedSearch {
    var search = ReceivedSearch(for: wanted, times: times)
    for stream in streams where protocolName == nil || stream.protocolName == protocolName {
      search.look(
        in: stream.bytes.copy(0..<stream.bytes.count), on: stream.protocolName, afterDropping: stream.dropped)
    }
    return search
  }
}

/// A behavior that chooses another behavior for each session and keeps the bytes that the session receives.
public struct WatchedBehavior: AccessoryBehavior {
  private let received: ReceivedBytes
  private let choose: (Session) -> any AccessoryBehavior

  /// Creates a behavior that keeps the received bytes in `received`. `choose` returns the behavior for a session that
  /// has just been opened.
  public init(_ received: ReceivedBytes, _ choose: @escaping (Session) -> any AccessoryBehavior) {
    (self.received, self.choose) = (received, choose)
  }

  /// Returns the handler that the chosen behavior creates.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    received.watch(session)
    return choose(session).makeHandler(for: session, in: context)
  }
}
