public import ExternalAccessory

/// A session as async code uses it: bytes out by `await`, bytes in by `for await`, both at the pace of the slower side.
///
/// ```swift
/// let connection = try AccessoryConnection(to: accessory, for: "com.example.protocol")
/// try await connection.write([0x01])
/// for try await bytes in connection.bytes { handle(bytes) }
/// ```
///
/// One task reads, and one writes: with several, who gets which bytes, and whose go first, is nobody's promise. Nothing is
/// read from the accessory before it is asked for, so an app that is busy holds the accessory back.
public final class AccessoryConnection: NSObject, StreamDelegate, @unchecked Sendable {
  /// Why there is no connection, or none any more.
  public enum Failure: Error, Equatable {
    /// `EASession` was nil.
    case noSession
    /// The session is over.
    case ended
  }

  /// The session.
  public let session: EASession
  private let input: InputStream
  private let output: OutputStream
  private let readable = Gate()
  private let writable = Gate()

  /// Opens a session and its streams.
  public init(to accessory: EAAccessory, for protocolString: String) throws {
    guard let session = EASession(accessory: accessory, forProtocol: protocolString),
      let input = session.inputStream, let output = session.outputStream
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

  /// Ends the session; what was written still goes out.
  public func close() {
    input.close()
    output.close()
    readable.open()
    writable.open()
  }

  /// The bytes that come, until the session ends.
  public var bytes: Bytes { Bytes(connection: self) }

  /// Bytes from an accessory, as they come.
  public struct Bytes: AsyncSequence, Sendable {
    let connection: AccessoryConnection

    /// Goes through them.
    public func makeAsyncIterator() -> Iterator { Iterator(connection: connection) }

    /// Asks for one piece at a time.
    public struct Iterator: AsyncIteratorProtocol {
      let connection: AccessoryConnection

      /// What has come since the last call; nil when the session is over.
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

  /// Writes all of it, as fast as the accessory takes it.
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

  /// What the streams tell.
  public func stream(_ stream: Stream, handle event: Stream.Event) {
    switch event {
    case .hasBytesAvailable: readable.open()
    case .hasSpaceAvailable: writable.open()
    case .endEncountered, .errorOccurred:
      readable.open()
      writable.open()
    default: break
    }
  }
}

/// Holds tasks until something has happened since the last of them passed.
private final class Gate: @unchecked Sendable {
  private let lock = NSLock()
  private var isOpen = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func open() {
    let woken = lock.withLock { () -> [CheckedContinuation<Void, Never>] in
      defer { waiting = [] }
      isOpen = waiting.isEmpty
      return waiting
    }
    for task in woken { task.resume() }
  }

  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let passes = lock.withLock { () -> Bool in
          defer { isOpen = false }
          if !isOpen { waiting.append(continuation) }
          return isOpen
        }
        if passes { continuation.resume() }
      }
    } onCancel: {
      open()
    }
  }
}
