import AccessoryCore
import LinuxIO

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

  /// Whether the client has ended and everything has been written.
  package private(set) var isOver = false

  /// The error from reading requests or writing answers, or nil if there was none.
  package private(set) var failure: String?

  package convenience init(standardFor client: ControlClient, on loop: any PollingLoop) throws {
    self.init(try DescriptorStream.standard(on: loop), isStandard: true, for: client)
  }

  /// Serves a client on a connected socket. Some bytes may already have been read from the socket. The connection closes
  /// the socket when the client has ended.
  package convenience init(
    takingSocket socket: Int32, after read: [UInt8], for client: ControlClient, on loop: any PollingLoop,
    ended: @escaping () -> Void
  ) throws {
    let stream = try DescriptorStream(takingSocket: socket, after: read, on: loop)
    self.init(stream, isStandard: false, for: client, ended: ended)
  }

  private init(
    _ stream: any ByteStream, isStandard: Bool, for client: ControlClient, ended: @escaping () -> Void = {}
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
    if inputEnded, client.isIdle, client.unsentCount == 0 { return finish() }
    if client.wantsToRead { stream.resumeReading() } else { stream.pauseReading() }
  }

  /// Ends the client without sending pending answers.
  package func close(_ reason: String) {
    client.close(reason)
    isEnding = true
    leave()
  }

  private func finish() {
    isEnding = true
    client.close("the connection was closed")
    stream.endOutput()
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
