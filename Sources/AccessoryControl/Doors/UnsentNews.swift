import AccessoryCore

/// What a door has to send to a client: its news, and answers among them.
///
/// News are dropped and counted when too much is unsent; once most of that is sent, a notification `dropped` has their number.
public struct UnsentNews {
  /// How much is unsent when dropping ends, and a door takes no further requests.
  public static let few = 1 << 20
  /// How much is unsent when dropping begins.
  static let most = 4 << 20

  /// How notifications are written.
  public enum Form: Sendable {
    /// A line each.
    case lines
    /// Server-sent events.
    case events
  }

  private let form: Form
  private var bytes = ByteQueue()
  /// How many news were dropped and are not reported yet.
  public private(set) var droppedCount = 0

  /// Without anything to send.
  public init(_ form: Form) { self.form = form }

  /// How many bytes wait to be sent.
  public var count: Int { bytes.count }

  /// Adds news; returns whether they were not dropped.
  public mutating func add(_ news: ControlNews) -> Bool {
    guard count <= Self.most, droppedCount == 0 else {
      droppedCount += 1
      return false
    }
    add(line: news.line)
    return true
  }

  /// Adds what is already in the form.
  public mutating func add(_ text: String) { bytes.append(contentsOf: text.utf8) }

  /// Gives what waits to be sent to `body`, which returns how many bytes it took.
  public mutating func send(_ body: (RawSpan) -> Int) {
    _ = bytes.consume(body)
    guard droppedCount > 0, count <= Self.few else { return }
    add(line: RPCDocument.notification("dropped", "{\"count\":\(droppedCount)}"))
    droppedCount = 0
  }

  private mutating func add(line: String) {
    switch form {
    case .lines: add(line)
    case .events: add("data: \(line)\n")
    }
  }
}
