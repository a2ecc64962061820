import Foundation

/// What is told on the main thread, in order.
///
/// Through `OperationQueue.main`, because an observer that asked for the main queue is waited for, and from a block of
/// `DispatchQueue.main` that wait never ends.
package final class MainDelivery: @unchecked Sendable {
  private let lock = NSLock()
  private var waiting: [() -> Void] = []
  private var isTelling = false
  private var nudges = 0

  /// Adds something to tell. From any thread.
  package func add(_ telling: @escaping () -> Void) {
    lock.withLock { waiting.append(telling) }
    OperationQueue.main.addOperation { self.tellNext() }
  }

  /// Does something where no run loop does it: a running main run loop has its own way to the same thing, and this
  /// then costs it next to nothing. From any thread; who calls has one of these on its way at a time.
  package func nudge(begin: @escaping @Sendable () -> Void, unlessRunning body: @escaping @Sendable () -> Void) {
    lock.withLock { nudges += 1 }
    DispatchQueue.main.async { [self] in
      begin()
      if RunLoop.main.currentMode == nil { add(body) }
      lock.withLock { nudges -= 1 }
    }
  }

  /// Whether everything was told, to the end.
  package var isEmpty: Bool { lock.withLock { waiting.isEmpty && !isTelling && nudges == 0 } }

  /// How much is on its way.
  package var backlog: Int { lock.withLock { waiting.count + nudges } }

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
