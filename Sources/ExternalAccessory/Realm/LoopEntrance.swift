package import AccessoryCore
package import AccessoryTransports
import Foundation

/// How threads of the app get to what lives on a loop.
package protocol LoopEntrance: AnyObject, Sendable {
  /// The loop.
  var loop: any EventLoop { get }
  /// Runs `body` on the loop and waits for what it says.
  func sync<Value>(_ body: () -> Value) -> Value
  /// Runs `body` on the loop, later.
  func async(_ body: @escaping @Sendable () -> Void)
}

/// The entrance to a loop with a thread of its own: the bench, and worlds in real time.
package final class ThreadEntrance: LoopEntrance, @unchecked Sendable {
  private let epoll: EpollLoop

  /// Starts the loop, which runs until this is let go.
  package init(_ loop: EpollLoop) throws {
    epoll = loop
    try loop.start()
  }

  deinit { epoll.stop() }

  /// The loop.
  package var loop: any EventLoop { epoll }

  /// Waits for the loop's thread; called on it, runs at once.
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
    guard let value = work.value else { preconditionFailure("a loop ran work and has nothing to show for it") }
    return value
  }

  /// In a later turn.
  package func async(_ body: @escaping @Sendable () -> Void) { epoll.execute(body) }

  /// What the caller waits for: nothing runs beside it, and nothing of it is left on the loop when the caller goes on,
  /// whenever the loop lets go of the work itself.
  private final class Work<Value>: @unchecked Sendable {
    var body: (() -> Value)?
    var value: Value?

    func run() {
      value = body?()
      body = nil
    }
  }
}

/// The entrance to a loop without a thread: whoever holds the lock is on the loop, and time passes when a test says so.
package final class VirtualEntrance: LoopEntrance, @unchecked Sendable {
  private let virtual: VirtualLoop
  private let lock = NSRecursiveLock()

  /// An entrance to a loop that nobody else uses.
  package init(_ loop: VirtualLoop) { virtual = loop }

  /// The loop.
  package var loop: any EventLoop { virtual }

  /// Under the lock.
  package func sync<Value>(_ body: () -> Value) -> Value { lock.withLock(body) }

  /// In the next turn that a test makes.
  package func async(_ body: @escaping @Sendable () -> Void) { virtual.execute(body) }

  /// The next deadline; nil when nothing is to be done.
  package var nextDeadline: Instant? { lock.withLock { virtual.nextDeadline } }

  /// The time.
  package var now: Instant { lock.withLock { virtual.now } }

  /// Does what is due up to an instant, and lets the time be no later than it. Time stands still forever when two
  /// machines answer each other without end, and that is a defect of this package.
  package func run(until instant: Instant) {
    lock.withLock {
      do { try virtual.run(until: { false }, limit: instant - virtual.now) } catch { fatalError("\(error)") }
    }
  }
}
