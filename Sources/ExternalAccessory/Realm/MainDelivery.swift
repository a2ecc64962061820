internal import AccessoryCore
import Foundation
internal import LinuxIO

/// Runs work on the main thread, in order: notifications, delegate calls and picker completions.
///
/// The work runs on `OperationQueue.main`, not in blocks on `DispatchQueue.main`. Posting a notification blocks until
/// the observers on the main queue have received it, so posting from such a block would deadlock.
package final class MainDelivery: @unchecked Sendable {
  private let lock = Lock()
  private var waiting: [() -> Void] = []
  private var isBusy = false
  private var nudges = 0

  /// Queues work. This function can be called from any thread.
  package func add(_ work: @escaping () -> Void) {
    lock.withLock { waiting.append(work) }
    OperationQueue.main.addOperation { self.runNext() }
  }

  /// Runs `body` on the main queue, unless the main run loop is running and therefore does the same work itself. Calls
  /// `begin` on the main queue first, even if `body` is not run. This function may be called from any thread, but must
  /// not be called again until it has called `begin`.
  package func nudge(begin: @escaping @Sendable () -> Void, unlessRunning body: @escaping @Sendable () -> Void) {
    if RunLoop.main.currentMode != nil {
      // The main run loop is running and will do the work, unless it stops first.
      DispatchQueue.main.asyncAfter(deadline: .now() + Self.patience) { [self] in
        begin()
        if RunLoop.main.currentMode == nil { add(body) }
      }
      return
    }
    lock.withLock { nudges += 1 }
    DispatchQueue.main.async { [self] in
      begin()
      if RunLoop.main.currentMode == nil { add(body) }
      lock.withLock { nudges -= 1 }
    }
  }

  /// How long to wait for the main run loop to do the work before checking whether the loop is still running.
  private static let patience = DispatchTimeInterval.milliseconds(20)

  private static let mainQueueKey: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Makes `Thread.isMainThread` true on the main queue, as on Apple's systems. On Linux, with `dispatchMain()`, an
  /// async `main` or Swift Testing, the main queue does not run on the main thread but on arbitrary threads. An app
  /// that calls `DispatchQueue.main.sync` only if `isMainThread` is false would then deadlock in an observer.
  private static let followsMainQueue: Void = MainThread.isAlso { DispatchQueue.getSpecific(key: mainQueueKey) == true }

  package init() { Self.followsMainQueue }

  /// Whether the caller is on the main thread, or on the main queue (on any thread).
  package static var isOnMainQueue: Bool {
    Thread.isMainThread || DispatchQueue.getSpecific(key: mainQueueKey) == true
  }

  package var isEmpty: Bool { lock.withLock { waiting.isEmpty && !isBusy && nudges == 0 } }

  package var backlog: Int { lock.withLock { waiting.count + nudges } }

  /// Each work item is run by a separate operation, so that the main run loop can do other work between items.
  private func runNext() {
    let (next, wasBusy) = lock.withLock { () -> ((() -> Void)?, Bool) in
      defer { isBusy = true }
      return (waiting.isEmpty ? nil : waiting.removeFirst(), isBusy)
    }
    next?()
    // The work item may itself run the main run loop, which may start the next item before this one ends.
    lock.withLock { isBusy = wasBusy }
  }
}
