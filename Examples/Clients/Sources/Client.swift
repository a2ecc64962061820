import ExternalAccessory

/// The common interface of the clients in this folder: each sends a message over a session and keeps the reply.
public nonisolated protocol Client: AnyObject, Sendable {
  /// Creates a client that looks for an accessory with this protocol, and sends its message to it.
  init(_ protocolName: String)
  /// The bytes that came back, as text.
  var reply: String { get }
  /// Ends the client's session.
  func stop()
}

/// The clients of this folder.
public nonisolated enum Clients {
  /// The clients by their names.
  public static let all: [String: any Client.Type] = [
    "streams": StreamsOnlyClient.self, "actor": ActorClient.self, "poll": PollingClient.self,
    "thread": ThreadClient.self, "lines": LineClient.self, "queue": QueueClient.self, "ids": IdentityClient.self,
    "any": CarelessClient.self,
  ]
}

/// A value that several threads share.
nonisolated final class Guarded<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func with<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try lock.withLock { try body(&value) }
  }
}

extension InputStream {
  /// Reads the bytes that are available, up to a maximum number.
  nonisolated func readAvailable(atMost count: Int = 512) -> Data {
    var buffer = [UInt8](repeating: 0, count: count)
    let read = read(&buffer, maxLength: count)
    return Data(buffer[..<max(0, read)])
  }
}

extension OutputStream {
  nonisolated func write(_ text: String) -> Int { write(Array(text.utf8), maxLength: text.utf8.count) }
}
