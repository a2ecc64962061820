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
