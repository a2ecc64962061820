import Foundation

/// Whether a stream's loops have ever taken an event, and since when the first one waits.
struct LoopWatch {
  /// How many seconds a thread has from its schedule to its first run of the loop.
  static let patience = 2.0

  private(set) var since: Date?
  private var isOver = false

  /// An event waits. Returns whether it is the first.
  mutating func begin() -> Bool {
    guard since == nil, !isOver else { return false }
    since = Date()
    return true
  }

  /// A loop took an event, so it runs.
  mutating func end() {
    since = nil
    isOver = true
  }

  /// The stream is closed.
  mutating func stop() { since = nil }
}
