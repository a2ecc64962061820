import AccessoryControl
import AccessoryCore
import CEasim

final class HTTPExchange {
  let connection: OpaquePointer
  let began: Instant
  var decision: Result<HTTPGate.Route, RefusedRequest> = .success(.health)
  var body: [UInt8] = []
  var isTooLarge = false
  var client: ControlClient?
  var answer: String?
  private var isSuspended = false
  var isStream = false
  var isEnding = false
  var unsent = UnsentNews(.events)
  var onEnd: (() -> Void)?

  init(_ connection: OpaquePointer, began: Instant) {
    (self.connection, self.began) = (connection, began)
  }

  /// Receives a part of the body. A body that is too large is discarded as it arrives, and the request is refused.
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

  /// Supplies the next chunk of an event stream. Returns 0 if there is nothing to send; the connection then waits.
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

  /// Sends a comment on a silent stream; ends a stream that has dropped events and is not being read.
  func beat() {
    guard isStream, !isEnding else { return }
    if unsent.droppedCount > 0 {
      isEnding = true
      // The client is not reading, so the end of the stream cannot be sent either.
      HTTPDoor.shutDown(connection)
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
