import AccessoryControl
import AccessoryCore
import AccessoryFormats
import CEasim

final class HTTPExchange {
  let connection: OpaquePointer
  let began: Instant
  var decision: Result<HTTPGate.Route, HTTPGate.Refusal> = .success(.health)
  var body: [UInt8] = []
  var isTooLarge = false
  var client: ControlClient?
  var answer: String?
  private var isSuspended = false
  var isStream = false
  var isEnding = false
  var unsent = UnsentNews(before: "data: ", after: "\n")
  var onEnd: (() -> Void)?

  init(_ connection: OpaquePointer, began: Instant) {
    (self.connection, self.began) = (connection, began)
  }

  /// Receives part of the body. If the body is too large, discards the bytes as they arrive and refuses the request.
  func take(_ bytes: UnsafeRawBufferPointer) {
    if case .failure = decision { return }
    isTooLarge = isTooLarge || body.count + bytes.count > HTTPGate.longestBody
    if isTooLarge { body = [] } else { body += bytes }
  }

  /// Writes the next chunk of an event stream to `buffer`, and returns the chunk's length. If the returned length is 0,
  /// the connection waits.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    if isEnding { return -1 }
    guard unsent.count > 0 else {
      suspend()
      return 0
    }
    var count = 0
    unsent.send { bytes in
      count = min(buffer.count, bytes.byteCount)
      bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      return count
    }
    return count
  }

  /// Sends a comment if the stream is silent, or ends the stream if its client has missed events by not reading.
  func beat() {
    guard isStream, !isEnding else { return }
    if unsent.droppedCount > 0 {
      isEnding = true
      // The client is not reading, so the end of the stream cannot be sent.
      HTTPServer.shutDown(connection)
    } else if unsent.count == 0 {
      unsent.add(": \n\n")
    }
    resume()
  }

  func suspend() {
    MHD_suspend_connection(connection)
    isSuspended = true
  }

  @discardableResult
  func resume() -> Bool {
    guard isSuspended else { return false }
    isSuspended = false
    MHD_resume_connection(connection)
    return true
  }

  func end() {
    isEnding = true
    client?.close("the connection was closed")
    client = nil
    let onEnd = onEnd
    self.onEnd = nil
    onEnd?()
    resume()
  }
}

/// Tracks which connections of an HTTP server are waiting for a request, and chooses one to close when there are too
/// many.
///
/// A connection that has sent a request with the token is never closed. A connection that has not sent a request with
/// the token belongs to a stranger. When there are too many connections, each new connection causes the oldest
/// stranger's connection to be closed. Clients that send their headers very slowly therefore cannot lock out a client
/// that sends its request immediately.
struct HTTPPlaces<Connection: Hashable> {
  private struct Place {
    /// The time at which the connection was accepted or its last request was answered.
    var since: Instant
    /// Whether the connection is still waiting for the headers of a request.
    var isWaiting = true
    var isTrusted = false
  }

  private var places: [Connection: Place] = [:]

  var count: Int { places.count }

  /// The stranger's connection that is closed to make room for a new connection, or nil if there is none.
  var stranger: Connection? { places.filter { !$0.value.isTrusted }.min { $0.value.since < $1.value.since }?.key }

  mutating func wait(_ connection: Connection, at now: Instant) {
    places[connection, default: Place(since: now)].isWaiting = true
    places[connection]?.since = now
  }

  mutating func arrived(_ connection: Connection, isTrusted: Bool) {
    places[connection]?.isWaiting = false
    if isTrusted { places[connection]?.isTrusted = true }
  }

  mutating func leave(_ connection: Connection) { places[connection] = nil }

  func overdue(at now: Instant, limit: Duration) -> (connections: [Connection], next: Instant?) {
    let waiting = places.filter(\.value.isWaiting)
    let late = waiting.filter { $0.value.since + limit <= now }
    return (Array(late.keys), waiting.values.map { $0.since + limit }.filter { $0 > now }.min())
  }
}
