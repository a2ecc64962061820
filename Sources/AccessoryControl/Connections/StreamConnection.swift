import AccessoryCore

/// Connects one client to the server over stdin and stdout, or over a connected socket.
///
/// The connection reads only while the client accepts calls, so a client that does not read its answers blocks only
/// itself. When the input ends, the connection sends all pending answers and then closes the client.
package final class StreamConnection {
  private let stream: any ByteStream
  private let client: RPCLines
  /// Whether the client uses stdin and stdout. If the client uses stdin and stdout, a closed output means that the
  /// client has exited.
  private let isStandard: Bool
  private var inputEnded = false
  private var isOutputClosed = false
  private var isEnding = false
  private var ended: (() -> Void)?

  package private(set) var isOver = false

  package private(set) var failure: String?

  /// Serves a client on a stream, which the connection closes when the client has ended.
  package init(
    _ stream: any ByteStream, isStandard: Bool = false, for client: ControlClient, ended: @escaping () -> Void = {}
  ) {
    (self.stream, self.isStandard, self.ended) = (stream, isStandard, ended)
    self.client = RPCLines(client)
    self.client.changed = { [weak self] in self?.flush() }
    stream.start(self)
    stream.resumeReading()
  }

  /// Sends as many bytes as possible, and then waits for more input or for room in the output.
  private func flush() {
    guard !isEnding else { return }
    var isFull = false
    while client.unsentCount > 0, !isFull {
      client.send { bytes in
        let sent = isOutputClosed ? bytes.byteCount : stream.send(bytes)
        isFull = sent < bytes.byteCount
        return sent
      }
    }
    if inputEnded, client.isIdle, client.unsentCount == 0 {
      isEnding = true
      client.close("the connection was closed")
      return stream.endOutput()
    }
    if client.wantsToRead { stream.resumeReading() } else { stream.pauseReading() }
  }

  package func close(_ reason: String) {
    client.close(reason)
    isEnding = true
    leave()
  }

  private func fail(_ reason: String) {
    failure = reason
    close(reason)
  }

  private func leave() {
    guard !isOver else { return }
    isOver = true
    stream.close()
    let ended = ended
    self.ended = nil
    ended?()
  }
}

extension StreamConnection: ByteStreamHandler {
  package func stream(_ stream: any ByteStream, received bytes: RawSpan) -> Int {
    guard !isEnding, client.wantsToRead else { return 0 }
    client.receive(bytes)
    return bytes.byteCount
  }

  package func stream(_ stream: any ByteStream, inputEndedBecause reason: String?) {
    if let reason { return fail("the client's requests could not be read: \(reason)") }
    inputEnded = true
    if isOutputClosed { return close("the connection was closed") }
    flush()
  }

  package func streamIsWritable(_ stream: any ByteStream) { flush() }

  package func stream(_ stream: any ByteStream, outputBrokeBecause reason: String?) {
    if let reason { return fail("the client's answers could not be written: \(reason)") }
    if isStandard { return close("its output was closed") }
    // Keeps reading, because a client on a socket may have sent its last requests just before it disconnected.
    isOutputClosed = true
    if isEnding || inputEnded || !client.wantsToRead { return close("the connection was closed") }
    flush()
  }

  package func streamOutputEnded(_ stream: any ByteStream) { leave() }
}
