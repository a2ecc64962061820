import AccessoryCore
import AccessoryFormats
import AccessorySessions
import Certificates

/// The bytes that an accessory has received in its sessions and its behavior has read, whatever the behavior is.
///
/// Each session is one stream of bytes, however they were split in transit. The oldest bytes are dropped.
final class ReceivedBytes {
  /// The maximum number of bytes kept in total.
  static let most = 1 << 20
  private static let mostStreams = 1_000

  private let loop: any EventLoop
  private(set) var streams: [Stream] = []
  private var count = 0

  /// The bytes of one session.
  final class Stream {
    let protocolName: String
    let began: Instant
    fileprivate(set) var bytes = ByteQueue()
    fileprivate(set) var dropped = 0

    init(_ protocolName: String, at began: Instant) {
      (self.protocolName, self.began) = (protocolName, began)
    }
  }

  init(on loop: any EventLoop) { self.loop = loop }

  /// Starts to keep the bytes read in a session.
  func watch(_ session: Session) {
    let stream = Stream(session.protocolName, at: loop.now)
    streams.append(stream)
    if streams.count > Self.mostStreams { count -= streams.removeFirst().bytes.count }
    // Only `streams` owns the stream, so that one that was dropped keeps nothing.
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
}

/// The bytes received in one session, as `accessory.received` shows them.
struct ReceivedStream: Equatable, Sendable {
  var protocolName = ""
  var began = 0.0
  var data = ""
  var dropped = 0

  init() {}

  init(_ stream: ReceivedBytes.Stream) {
    (protocolName, began) = (stream.protocolName, stream.began.wholeSeconds)
    (data, dropped) = (Base64.text(stream.bytes.copy(0..<stream.bytes.count)), stream.dropped)
  }

  static let format = Record("received bytes", "what an accessory received in one session", ReceivedStream()) {
    Field("protocol", \.protocolName, .text, "the protocol of the session", isRequired: true)
    Field("t", \.began, .seconds, "when the session was opened, in seconds on the world's clock", isRequired: true)
    Field("data", \.data, .text, "the bytes in base64", isRequired: true)
    Field(
      "dropped", \.dropped, .integer(0...Int.max), "number of earlier bytes that are no longer kept", isRequired: true)
  }
}
