import Foundation

/// What is told on the main thread, in order.
///
/// Through `OperationQueue.main`, because an observer that asked for the main queue is waited for, and from a block of
/// `DispatchQueue.main` that wait never ends.
package final class MainDelivery: @unchecked Sendable {
  private let lock = NSLock()
  private var waiting: [() -> Void] = []

  /// Adds something to tell. From any thread.
  package func add(_ telling: @escaping () -> Void) {
    lock.withLock { waiting.append(telling) }
    OperationQueue.main.addOperation { self.tellNext() }
  }

  /// Whether everything was told.
  package var isEmpty: Bool { lock.withLock { waiting.isEmpty } }

  /// One operation for each: between two of them the main run loop gets its turn.
  private func tellNext() {
    let next = lock.withLock { waiting.isEmpty ? nil : waiting.removeFirst() }
    next?()
  }
}
