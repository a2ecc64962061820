internal import AccessoryCore
import Foundation
internal import LinuxIO

/// Runs work on the main thread, in order: notifications, delegate calls and picker completions.
///
/// The work runs on `OperationQueue.main`, not in blocks of `DispatchQueue.main`: posting a notification blocks until
/// observers on the main queue have received it, which would deadlock in such a block.
package final class MainDelivery: @unchecked Sendable {
  private let lock = Lock()
  private var waiting: [() -> Void] = []
  private var isBusy = false
  private var nudges = 0

  /// Queues work; can be called from any thread.
  package func add(_ work: @escaping () -> Void) {
    lock.withLock { waiting.append(work) }
    OperationQueue.main.addOperation { self.runNext() }
  }

  /// Runs `body` on the main queue, unless the main run loop is running and therefore does the same work itself.
  /// Whether or not `body` runs, `begin` is called first, on the main queue. This function may be called from any
  /// thread, but not again before `begin` has been called.
  package func nudge(begin: @escaping @Sendable () -> Void, unlessRunning body: @escaping @Sendable () -> Void) {
    if RunLoop.main.currentMode != nil {
      // The running main run loop does the work itself, but it may end before it has done so.
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

  /// The time that the main run loop has for the work before the main queue checks whether the loop is still running.
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

  /// Whether the caller is on the main thread, or on the main queue regardless of that queue's current thread.
  package static var isOnMainQueue: Bool {
    Thread.isMainThread || DispatchQueue.getSpecific(key: mainQueueKey) == true
  }

  package var isEmpty: Bool { lock.withLock { waiting.isEmpty && !isBusy && nudges == 0 } }

  package var backlog: Int { lock.withLock { waiting.count + nudges } }

  /// Each work item is a separate operation, so that the main run loop can do other work between items.
  private func runNext() {
    let (next, wasBusy) = lock.withLock { () -> ((() -> Void)?, Bool) in
      defer { isBusy = true }
      return (waiting.isEmpty ? nil : waiting.removeFirst(), isBusy)
    }
    next?()
    // The work item may run the main run loop, which may start the next item before this item ends.
    lock.withLock { isBusy = wasBusy }
  }
}
