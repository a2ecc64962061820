package import AccessoryCore
import Foundation
package import LinuxIO

/// Runs work from the app's threads on the loop.
package protocol LoopEntrance: AnyObject, Sendable {
  /// The loop.
  var loop: any EventLoop { get }
  /// Runs `body` on the loop and returns its result. Blocks until then.
  func sync<Value>(_ body: () -> Value) -> Value
  /// Runs `body` on the loop later.
  func async(_ body: @escaping @Sendable () -> Void)
}

/// For a loop with its own thread: the local accessories, and worlds in real time.
package final class ThreadEntrance: LoopEntrance, @unchecked Sendable {
  private let epoll: EpollLoop

  /// Starts the loop. It runs until this object is released.
  package init(_ loop: EpollLoop) throws {
    epoll = loop
    try loop.start()
  }

  deinit { epoll.stop() }

  /// The loop.
  package var loop: any EventLoop { epoll }

  /// Blocks until the loop's thread has run `body`. On that thread it runs immediately.
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

  /// Runs `body` in a later turn.
  package func async(_ body: @escaping @Sendable () -> Void) { epoll.execute(body) }

  /// The body that the caller waits for. It is removed before the caller continues, so that the loop, which may release
  /// the work later, releases nothing that the body captured.
  private final class Work<Value>: @unchecked Sendable {
    var body: (() -> Value)?
    var value: Value?

    func run() {
      value = body?()
      body = nil
    }
  }
}

/// For a loop without a thread: whichever thread holds the lock is on the loop, and time passes only in
/// ``run(until:)``.
package final class VirtualEntrance: LoopEntrance, @unchecked Sendable {
  private let virtual: VirtualLoop
  /// Recursive, because work on the loop may call ``sync(_:)`` again.
  private let lock = NSRecursiveLock()

  /// Takes over a loop that nothing else uses.
  package init(_ loop: VirtualLoop) { virtual = loop }

  /// The loop.
  package var loop: any EventLoop { virtual }

  /// Runs `body` under the lock.
  package func sync<Value>(_ body: () -> Value) -> Value { lock.withLock(body) }

  /// Runs `body` in the next turn.
  package func async(_ body: @escaping @Sendable () -> Void) { virtual.execute(body) }

  /// The next deadline; nil if nothing is scheduled.
  package var nextDeadline: Instant? { lock.withLock { virtual.nextDeadline } }

  /// The loop's time.
  package var now: Instant { lock.withLock { virtual.now } }

  /// Runs all work up to an instant; the time is then at most that instant. Traps if work keeps creating more work at
  /// the same instant, which is a bug in this package.
  package func run(until instant: Instant) {
    lock.withLock {
      do { try virtual.run(until: { false }, limit: instant - virtual.now) } catch { fatalError("\(error)") }
    }
  }
}
