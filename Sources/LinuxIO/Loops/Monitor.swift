import Glibc

/// State that several threads change and wait for: a ``Locked`` with a condition variable.
///
/// ```swift
/// let answer = Monitor<Int?>(nil)
/// Worker.start { let found = search(); answer.change { $0 = found } }
/// let found = answer.wait(atMost: .seconds(2)) { $0 }   // nil after two seconds
/// ```
package final class Monitor<State>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>
  private var state: State

  package init(_ state: State) {
    self.state = state
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    changed = .allocate(capacity: 1)
    changed.initialize(to: pthread_cond_t())
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    // The time of day may jump during a wait.
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    let results = (pthread_mutex_init(mutex, nil), pthread_cond_init(changed, &attributes))
    pthread_condattr_destroy(&attributes)
    precondition(results == (0, 0), "a mutex and a condition cannot be made")
  }

  deinit {
    pthread_cond_destroy(changed)
    changed.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Accesses the state without waking anyone.
  package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state)
  }

  /// Changes the state and wakes every waiting thread.
  package func change<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try withLock { state in
      defer { pthread_cond_broadcast(changed) }
      return try body(&state)
    }
  }

  /// Waits until `body` returns a result. It is called once at the start and again after each change.
  ///
  /// - Parameter limit: the longest wait; unlimited when left out.
  /// - Returns: nil when the limit passed first.
  package func wait<Result>(atMost limit: Duration? = nil, _ body: (inout State) -> Result?) -> Result? {
    let end = limit.map(Self.time)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    // `&state` is passed to each call and not to one function around the loop: Swift allows no other access to it until a
    // call returns, and other threads change it during the wait.
    while true {
      if let result = body(&state) { return result }
      if var end {
        if pthread_cond_timedwait(changed, mutex, &end) == ETIMEDOUT { return body(&state) }
      } else {
        pthread_cond_wait(changed, mutex)
      }
    }
  }

  private static func time(after limit: Duration) -> timespec {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    let (seconds, attoseconds) = limit.components
    let nanoseconds = now.tv_nsec + Int(attoseconds / 1_000_000_000)
    return timespec(
      tv_sec: now.tv_sec + Int(clamping: seconds) + nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
  }
}
