import AccessoryCore

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
