public import ExternalAccessory

/// A session for async code. Use `await` to write and `for try await` to read. Reads and writes wait for the accessory
/// if necessary.
///
/// ```swift
/// let connection = try AccessoryConnection(to: accessory, for: "com.example.protocol")
/// try await connection.write([0x01])
/// for try await bytes in connection.bytes { handle(bytes) }
/// ```
///
/// Read from only one task and write from only one task. With several readers or writers, the order of bytes is
/// undefined. Bytes are read from the accessory only when the app asks for them, so a busy app slows the accessory
/// down.
public final class AccessoryConnection: NSObject, StreamDelegate, @unchecked Sendable {
  /// The reason why a connection could not be opened or used.
  public enum Failure: Error, Equatable {
    /// `EASession` returned nil.
    case noSession
    /// The session ended.
    case ended
  }

  /// The session.
  public let session: EASession
  private let input: InputStream
  private let output: OutputStream
  private let readable = AsyncSignal()
  private let writable = AsyncSignal()

  /// Opens a session and its streams. Omit the last three arguments. The defaults of these arguments record the
  /// location of the call.
  public init(
    to accessory: EAAccessory, for protocolString: String, calledIn file: String = #fileID, line: Int = #line,
    function: String = #function
  ) throws {
    let session = EASession(
      accessory: accessory, forProtocol: protocolString, calledIn: file, line: line, function: function)
    guard let session, let input = session.inputStream, let output = session.outputStream
    else { throw Failure.noSession }
    (self.session, self.input, self.output) = (session, input, output)
    super.init()
    for stream in [input, output] as [Stream] {
      stream.delegate = self
      stream.schedule(in: .main, forMode: .common)
      stream.open()
    }
  }

  deinit { close() }

  /// Ends the session. Bytes that have already been written are still sent.
  public func close() {
    input.close()
    output.close()
    readable.send()
    writable.send()
  }

  /// The bytes from the accessory, until the session ends.
  public var bytes: Bytes { Bytes(connection: self) }

  /// The bytes from an accessory, in chunks as they arrive.
  public struct Bytes: AsyncSequence, Sendable {
    let connection: AccessoryConnection

    /// Reads from the connection.
    public func makeAsyncIterator() -> Iterator { Iterator(connection: connection) }

    /// Reads one chunk at a time.
    public struct Iterator: AsyncIteratorProtocol {
      let connection: AccessoryConnection

      /// Returns the bytes that have arrived since the last call. If no bytes have arrived, waits until some do.
      /// Returns nil when the session has ended.
      public mutating func next() async throws -> [UInt8]? { try await connection.read() }
    }
  }

  private func read() async throws -> [UInt8]? {
    while true {
      try Task.checkCancellation()
      if input.hasBytesAvailable {
        let bytes = [UInt8](unsafeUninitializedCapacity: 16 * 1024) { buffer, count in
          count = buffer.baseAddress.map { max(0, input.read($0, maxLength: buffer.count)) } ?? 0
        }
        if !bytes.isEmpty { return bytes }
      }
      if let error = input.streamError { throw error }
      if input.streamStatus != .open { return nil }
      await readable.wait()
    }
  }

  /// Writes all bytes, as fast as the accessory accepts them.
  public func write(_ bytes: [UInt8]) async throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      try Task.checkCancellation()
      if output.streamStatus != .open { throw output.streamError ?? Failure.ended }
      if output.hasSpaceAvailable {
        let count = rest.withUnsafeBufferPointer { buffer in
          buffer.baseAddress.map { output.write($0, maxLength: buffer.count) } ?? 0
        }
        if count < 0 { throw output.streamError ?? Failure.ended }
        rest = rest.dropFirst(count)
      } else {
        await writable.wait()
      }
    }
  }

  /// Receives the events of both streams.
  public func stream(_ stream: Stream, handle event: Stream.Event) {
    switch event {
    case .hasBytesAvailable: readable.send()
    case .hasSpaceAvailable: writable.send()
    case .endEncountered, .errorOccurred:
      readable.send()
      writable.send()
    default: break
    }
  }
}

/// Lets a task wait for the next ``send()``. If no task is waiting, the next ``wait()`` returns immediately.
///
/// The signal uses `NSLock` instead of the package's own lock, so that this module needs only the public API.
final class AsyncSignal: @unchecked Sendable {
  private let lock = NSLock()
  private var isPending = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func send() {
    let woken = lock.withLock { () -> [CheckedContinuation<Void, Never>] in
      defer { waiting = [] }
      isPending = waiting.isEmpty
      return waiting
    }
    for task in woken { task.resume() }
  }

  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let passes = lock.withLock { () -> Bool in
          defer { isPending = false }
          if !isPending { waiting.append(continuation) }
          return isPending
        }
        if passes { continuation.resume() }
      }
    } onCancel: {
      send()
    }
  }
}
