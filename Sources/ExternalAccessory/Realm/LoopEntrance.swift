package import AccessoryCore
import Foundation
package import LinuxIO

/// Lets the app's threads run work on the loop.
package protocol LoopEntrance: AnyObject, Sendable {
  var loop: any EventLoop { get }
  /// Runs `body` on the loop, blocks until it has run, and returns its result.
  func sync<Value>(_ body: () -> Value) -> Value
  func async(_ body: @escaping @Sendable () -> Void)
}

/// The entrance to a loop with its own thread, used for local accessories and for worlds in real time.
package final class ThreadEntrance: LoopEntrance, @unchecked Sendable {
  private let epoll: EpollLoop

  /// Starts the loop, which runs until this object is released.
  package init(_ loop: EpollLoop) throws {
    epoll = loop
    try loop.start()
  }

  deinit { epoll.stop() }

  package var loop: any EventLoop { epoll }

  /// Blocks until the loop's thread has run `body`. If called on the loop's thread, runs `body` immediately.
  package func sync<Value>(_ body: () -> Value) -> Value {
    if epoll.isCurrent { return body() }
    let done = DispatchSemaphore(value: 0)
    let work = Work<Value>()
    withoutActuallyEscaping(body) { body in
      work.body = body
      epoll.execute {
        work.run()
        done.signal()
      }
      done.wait()
    }
    guard let value = work.value else { preconditionFailure("the loop signalled work but did not run it") }
    return value
  }

  package func async(_ body: @escaping @Sendable () -> Void) { epoll.execute(body) }

  /// A piece of work that the caller waits for. `body` is set to nil before the caller continues, so that the loop,
  /// which may release this object later, does not release what `body` captured.
  private final class Work<Value>: @unchecked Sendable {
    var body: (() -> Value)?
    var value: Value?

    func run() {
      value = body?()
      body = nil
    }
  }
}

/// The entrance to a loop without a thread. Whichever thread holds the lock acts as the loop. Time passes only in
/// ``run(until:)``.
package final class VirtualEntrance: LoopEntrance, @unchecked Sendable {
  private let virtual: VirtualLoop
  /// The lock is recursive, because work on the loop may call ``sync(_:)`` again.
  private let lock = NSRecursiveLock()

  package init(_ loop: VirtualLoop) { virtual = loop }

  package var loop: any EventLoop { virtual }

  package func sync<Value>(_ body: () -> Value) -> Value { lock.withLock(body) }

  package func async(_ body: @escaping @Sendable () -> Void) { virtual.execute(body) }

  package var nextDeadline: Instant? { lock.withLock { virtual.nextDeadline } }

  package var now: Instant { lock.withLock { virtual.now } }

  /// Runs all work that is due at or before `instant`. Never advances the loop's time beyond `instant`. Traps if work
  /// endlessly schedules more work for the same instant, which would be a bug in this package.
  package func run(until instant: Instant) {
    lock.withLock {
      do { try virtual.run(until: { false }, limit: instant - virtual.now) } catch { fatalError("\(error)") }
    }
  }
}

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
