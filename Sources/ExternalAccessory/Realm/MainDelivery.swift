import Foundation

/// What is told on the main thread, in order.
///
/// Through `OperationQueue.main`, because an observer that asked for the main queue is waited for, and from a block of
/// `DispatchQueue.main` that wait never ends.
package final class MainDelivery: @unchecked Sendable {
  private let lock = NSLock()
  private var waiting: [() -> Void] = []
  private var isTelling = false

  /// Adds something to tell. From any thread.
  package func add(_ telling: @escaping () -> Void) {
    lock.withLock { waiting.append(telling) }
    OperationQueue.main.addOperation { self.tellNext() }
  }

  /// Whether everything was told, to the end.
  package var isEmpty: Bool { lock.withLock { waiting.isEmpty && !isTelling } }

  /// One operation for each: between two of them the main run loop gets its turn.
  private func tellNext() {
    let (next, wasTelling) = lock.withLock { () -> ((() -> Void)?, Bool) in
      defer { isTelling = true }
      return (waiting.isEmpty ? nil : waiting.removeFirst(), isTelling)
    }
    next?()
    // What is told may run the main run loop, and that brings the next one here.
    lock.withLock { isTelling = wasTelling }
  }
}
