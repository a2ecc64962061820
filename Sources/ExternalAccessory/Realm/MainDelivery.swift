internal import AccessoryCore
import Foundation
internal import LinuxIO

/// Runs work on the main thread, in order: notifications, delegates, picker completions.
///
/// It uses `OperationQueue.main`, because an observer that asked for the main queue is waited for, and waiting for it
/// in a block of `DispatchQueue.main` would never end.
package final class MainDelivery: @unchecked Sendable {
  private let lock = Lock()
  private var waiting: [() -> Void] = []
  private var isBusy = false
  private var nudges = 0

  /// Queues work. From any thread.
  package func add(_ work: @escaping () -> Void) {
    lock.withLock { waiting.append(work) }
    OperationQueue.main.addOperation { self.runNext() }
  }

  /// Queues `body` unless the main run loop is running by then, because a running main run loop does the same work by
  /// itself. `begin` is called on the main queue in either case. May be called from any thread; a caller has at most
  /// one call queued.
  package func nudge(begin: @escaping @Sendable () -> Void, unlessRunning body: @escaping @Sendable () -> Void) {
    lock.withLock { nudges += 1 }
    DispatchQueue.main.async { [self] in
      begin()
      if RunLoop.main.currentMode == nil { add(body) }
      lock.withLock { nudges -= 1 }
    }
  }

  private static let mainQueueKey: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Makes `Thread.isMainThread` true on the main queue, as it is on Apple's systems. On Linux the main thread ends in
  /// `dispatchMain()`, in an async `main` and under Swift Testing, and the main queue runs on one thread or another. An app
  /// that asks `isMainThread` in an observer, before it calls `DispatchQueue.main.sync`, would then wait for itself.
  private static let followsMainQueue: Void = MainThread.isAlso { DispatchQueue.getSpecific(key: mainQueueKey) == true }

  /// Nothing is queued.
  package init() { Self.followsMainQueue }

  /// Whether the caller is on the main queue (on whichever thread that is) or on the main thread.
  package static var isOnMainQueue: Bool {
    Thread.isMainThread || DispatchQueue.getSpecific(key: mainQueueKey) == true
  }

  /// Whether all work is done.
  package var isEmpty: Bool { lock.withLock { waiting.isEmpty && !isBusy && nudges == 0 } }

  /// How many pieces of work are queued.
  package var backlog: Int { lock.withLock { waiting.count + nudges } }

  /// One operation for each piece of work, so that the main run loop gets its turn between two of them.
  private func runNext() {
    let (next, wasBusy) = lock.withLock { () -> ((() -> Void)?, Bool) in
      defer { isBusy = true }
      return (waiting.isEmpty ? nil : waiting.removeFirst(), isBusy)
    }
    next?()
    // The work may run the main run loop, which starts the next piece before this one ends.
    lock.withLock { isBusy = wasBusy }
  }
}
