import AccessoryCore

/// A client that sends and receives lines of JSON-RPC. The owner of this object does the I/O.
///
/// - While more than ``mostUnsent`` bytes are unsent, no further lines are handled: ``wantsToRead`` becomes false, and
///   the connection stops reading. Therefore, a client that does not read its answers blocks only itself, and no buffer
///   grows without limit.
/// - Notifications are dropped if there is no room for them. When there is room again, a `dropped` notification reports
///   how many notifications were dropped.
public final class RPCLines {
  package static let mostUnsent = UnsentNews.few

  /// Called when there are bytes to send, or when ``wantsToRead`` has changed.
  package var changed: (() -> Void)?
  private let client: ControlClient
  private var cutter = RPCLineCutter()
  private var unsent = UnsentNews()
  private var isHandling = false

  /// Creates the object that sends and receives lines for a client.
  public init(_ client: ControlClient) {
    self.client = client
    client.changed = { [weak self] in self?.handleLines() }
    client.news = { [weak self] news in
      guard let self, unsent.add(notification: news), !isHandling else { return }
      changed?()
    }
  }

  package var wantsToRead: Bool { unsent.count <= Self.mostUnsent && client.takesCalls }

  /// The number of unsent bytes.
  public var unsentCount: Int { unsent.count }

  /// Whether all requests have been answered.
  package var isIdle: Bool { client.isIdle && cutter.count == 0 }

  /// Handles received bytes.
  public func receive(_ bytes: RawSpan) {
    guard !client.isClosed else { return }
    cutter.append(bytes)
    handleLines()
  }

  /// Passes the unsent bytes to `body`, which returns how many bytes it has sent.
  public func send(_ body: (RawSpan) -> Int) {
    let couldRead = wantsToRead
    unsent.send(body)
    // Handles the lines on a later turn of the loop, because a call may be in progress now.
    if !couldRead { client.server.later { [weak self] in self?.handleLines() } }
  }

  /// Ends the client after its connection has ended.
  public func close(_ reason: String) {
    changed = nil
    unsent = UnsentNews()
    client.close(reason)
  }

  private func handleLines() {
    // Handling a request may complete other requests, and completing those may call this function again.
    guard !isHandling else { return }
    isHandling = true
    defer { isHandling = false }
    lines: while wantsToRead {
      switch cutter.next() {
      case .none: break lines
      case .line(let line): client.answer(line) { [weak self] in self?.append($0) }
      case .tooLong:
        let error = RPCError(
          .parse, "the line is longer than \(RPCDocument.longest) bytes",
          advice: "send less at a time, or use session.port to open a connection for the bytes")
        append(RPCDocument.response(.null, .failure(error)))
      }
    }
    changed?()
  }

  private func append(_ answer: String?) {
    guard let answer, !client.isClosed else { return }
    unsent.add(answer)
    if !isHandling { changed?() }
  }
}

/// Splits received bytes into lines. No line is longer than ``RPCDocument/longest``.
private struct RPCLineCutter {
  private var rest = ByteQueue()
  private var scanned = 0
  private var isSkipping = false

  var count: Int { rest.count }

  mutating func append(_ bytes: RawSpan) { rest.append(bytes) }

  enum Cut {
    case none
    case line([UInt8])
    case tooLong
  }

  mutating func next() -> Cut {
    while scanned < rest.count {
      if rest[scanned] == UInt8(ascii: "\n") {
        let line = rest.copy(0..<scanned)
        rest.removeFirst(scanned + 1)
        scanned = 0
        if isSkipping {
          isSkipping = false
          return .tooLong
        }
        return .line(line)
      }
      scanned += 1
      if scanned > RPCDocument.longest {
        isSkipping = true
        rest.removeFirst(scanned)
        scanned = 0
      }
    }
    return .none
  }
}

/// The answers and notifications that have not yet been sent to a client.
///
/// Notifications are dropped while too many bytes are unsent. Once most of the bytes have been sent, a `dropped`
/// notification reports how many notifications were dropped.
package struct UnsentNews {
  /// Once no more than this many bytes are unsent, notifications are accepted again and requests are read again.
  package static let few = 1 << 20
  /// While at least this many bytes are unsent, notifications are dropped.
  static let most = 4 << 20

  /// What precedes each notification, such as the name of a field in server-sent events, and what follows it.
  private let frame: (before: String, after: String)
  private var bytes = ByteQueue()
  /// How many notifications have been dropped since the last report.
  package private(set) var droppedCount = 0

  package init(before: String = "", after: String = "") { frame = (before, after) }

  package var count: Int { bytes.count }

  /// Adds a notification. If there is no room, drops the notification and returns false.
  package mutating func add(notification line: String) -> Bool {
    guard count <= Self.most, droppedCount == 0 else {
      droppedCount += 1
      return false
    }
    add(frame.before + line + frame.after)
    return true
  }

  package mutating func add(_ text: String) { bytes.append(contentsOf: text.utf8) }

  /// Passes the unsent bytes to `body`, which returns how many bytes it has sent.
  package mutating func send(_ body: (RawSpan) -> Int) {
    _ = bytes.consume(body)
    guard droppedCount > 0, count <= Self.few else { return }
    let dropped = droppedCount
    droppedCount = 0
    _ = add(notification: RPCDocument.notification("dropped", "{\"count\":\(dropped)}"))
  }
}
