import AccessoryCore
import AccessoryFormats
import AccessorySessions

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

/// The result of a search in received bytes. The result contains the number of occurrences or, if there are none, the
/// most similar bytes.
///
/// ```swift
/// meter.received("VERSION?").isMet              // at least once
/// meter.received("VERSION?", times: 2).isMet    // exactly twice
/// ```
public struct ReceivedSearch: Equatable, Sendable {
  /// The bytes that were searched for.
  public let wanted: [UInt8]
  /// How many times the bytes are expected, or nil for at least once.
  public let times: Int?
  /// How many times the bytes were received. Occurrences do not overlap, and no occurrence extends across two sessions.
  public private(set) var count = 0

  /// The received bytes that best match the wanted bytes, their protocol, and how many bytes at the start match.
  private var nearest: (same: Int, protocolName: String, found: [UInt8])?
  private var dropped = 0

  init(for wanted: [UInt8], times: Int?) {
    (self.wanted, self.times) = (wanted, times)
  }

  /// Whether the bytes were received as many times as expected.
  public var isMet: Bool { times.map { count == $0 } ?? (count > 0) }

  /// Counts the occurrences in one stream in a single pass. At each byte, `same` is the length of the longest prefix of
  /// the wanted bytes that ends there.
  mutating func look(in bytes: [UInt8], on protocolName: String, afterDropping dropped: Int) {
    self.dropped += dropped
    let fallbacks = Self.fallbacks(of: wanted)
    var same = 0
    var best = (same: 0, end: 0)
    for (index, byte) in bytes.enumerated() {
      while same > 0, byte != wanted[same] { same = fallbacks[same - 1] }
      if byte == wanted.dropFirst(same).first { same += 1 }
      if same > best.same { best = (same, index + 1) }
      if same == wanted.count, same > 0 { (count, same) = (count + 1, 0) }
    }
    if best.same > nearest?.same ?? -1 {
      let start = best.end - best.same
      nearest = (best.same, protocolName, Array(bytes[start..<min(bytes.count, start + wanted.count)]))
    }
  }

  /// For each prefix of the bytes, returns the length of the longest shorter prefix that is also a suffix of that
  /// prefix (Knuth, Morris, Pratt).
  private static func fallbacks(of bytes: [UInt8]) -> [Int] {
    var lengths = [Int](repeating: 0, count: bytes.count)
    for index in bytes.indices.dropFirst() {
      var length = lengths[index - 1]
      while length > 0, bytes[index] != bytes[length] { length = lengths[length - 1] }
      lengths[index] = bytes[index] == bytes[length] ? length + 1 : 0
    }
    return lengths
  }

  /// Compares all properties.
  public static func == (one: ReceivedSearch, other: ReceivedSearch) -> Bool {
    one.wanted == other.wanted && one.times == other.times && one.count == other.count
      && one.description == other.description
  }
}

extension ReceivedSearch: CustomStringConvertible {
  /// A sentence that names the first wrong byte: "never received 'VERSION?'; nearest on com.acme.meter: 'VERSON?',
  /// where byte 4 is 4f ('O') and not 49 ('I')".
  public var description: String {
    let what = ShownBytes.of(wanted)
    if count > 0 {
      let counted = "received \(what) \(count.counted("time"))"
      return isMet ? counted : "\(counted), not \(times ?? 1)\(lost)"
    }
    return isMet ? "never received \(what)" : "never received \(what); \(place)\(lost)"
  }

  private var place: String {
    guard let nearest else { return "no session was opened" }
    guard !nearest.found.isEmpty else { return "nothing was received on \(nearest.protocolName)" }
    let difference = ShownBytes.difference(of: nearest.found, from: wanted) ?? "nothing differs"
    return "nearest on \(nearest.protocolName): \(ShownBytes.of(nearest.found)), where \(difference)"
  }

  private var lost: String { dropped > 0 ? "; \(dropped.counted("earlier byte")) are no longer kept" : "" }
}
