import AccessoryControl
import AccessoryCore
import CMicroHTTPD

/// One request by HTTP and its answer.
final class HTTPExchange {
  let connection: OpaquePointer
  let began: Instant
  var decision: Result<HTTPGate.Route, RefusedRequest> = .success(.health)
  var body: [UInt8] = []
  var isTooLarge = false
  var client: ControlClient?
  var answer: String?
  var isSuspended = false
  var isStream = false
  var isEnding = false
  var unsent: [UInt8] = []
  var onEnd: (() -> Void)?
  private var collected: [UInt8] = []
  /// Whether a heartbeat was not read since the last one.
  private var beatsUnread = 0
  var dropped: Int { client?.droppedCount ?? lastDropped }
  private var lastDropped = 0

  init(_ connection: OpaquePointer, began: Instant) {
    (self.connection, self.began) = (connection, began)
  }

  /// Takes a part of the body. What is too large is read and thrown away, up to as much again; then the connection ends.
  func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if case .failure = decision { return true }
    if isTooLarge || body.count + bytes.count > HTTPGate.longestBody {
      isTooLarge = true
      body = []
      return true
    }
    body += bytes
    return true
  }

  /// Takes what the client has answered; whether that is all.
  func collect() -> Bool {
    guard let client else { return true }
    client.send { bytes in
      bytes.withUnsafeBytes { collected += $0 }
      return bytes.byteCount
    }
    guard client.isIdle else { return false }
    client.changed = nil
    answer = String(decoding: collected, as: UTF8.self)
    collected = []
    return true
  }

  /// Fills a part of an event stream; 0 when there is nothing, and the connection then waits.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    if isEnding { return -1 }
    beatsUnread = 0
    if unsent.isEmpty, let client {
      client.send { bytes in
        // Whole lines, each as one event; at most so many at once.
        bytes.withUnsafeBytes { raw in
          var taken = 0
          while taken < raw.count, unsent.count < 64 * 1024, let end = raw[taken...].firstIndex(of: 0x0A) {
            unsent.append(contentsOf: "data: ".utf8)
            unsent.append(contentsOf: raw[taken..<end])
            unsent.append(contentsOf: [0x0A, 0x0A])
            taken = end + 1
          }
          return taken
        }
      }
    }
    guard !unsent.isEmpty else {
      MHD_suspend_connection(connection)
      isSuspended = true
      return 0
    }
    let count = min(buffer.count, unsent.count)
    unsent.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[0..<count])) }
    unsent.removeFirst(count)
    return count
  }

  /// A silent stream gets a comment; one that has dropped events and does not read ends.
  func beat() {
    guard isStream, !isEnding else { return }
    if let client, client.droppedCount > 0 {
      lastDropped = client.droppedCount
      isEnding = true
      // It does not read, so the end cannot be sent either.
      HTTPDoor.shutDown(connection)
    } else if unsent.isEmpty {
      unsent = Array(": \n\n".utf8)
    }
    resume()
  }

  func resume() {
    guard isSuspended else { return }
    isSuspended = false
    MHD_resume_connection(connection)
  }

  /// The connection is over.
  func end() {
    isEnding = true
    lastDropped = client?.droppedCount ?? lastDropped
    client?.close("the connection was closed")
    client = nil
    let onEnd = onEnd
    self.onEnd = nil
    onEnd?()
    resume()
  }
}
