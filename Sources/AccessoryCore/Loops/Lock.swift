import Glibc

/// A lock for the few places where threads share state. It is not recursive: taking it twice on one thread blocks
/// forever.
///
/// It wraps `pthread_mutex_t` because the thread sanitizer does not understand the standard library's `Mutex` and reports
/// false races.
package final class Lock: @unchecked Sendable {
  /// Accessible for use with a condition variable.
  package let mutex: UnsafeMutablePointer<pthread_mutex_t>

  /// Creates an unlocked lock.
  package init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    let code = pthread_mutex_init(mutex, nil)
    precondition(code == 0, "pthread_mutex_init failed: \(String(cString: strerror(code)))")
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Runs `body` while holding the lock.
  package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }
}

/// A value that several threads change while holding its lock.
package final class Locked<Value>: @unchecked Sendable {
  private let lock = Lock()
  private var value: Value

  /// Protects `value`.
  package init(_ value: Value) { self.value = value }

  /// Runs `body` on the value while holding the lock.
  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try lock.withLock { () throws(Failure) -> Result in try body(&value) }
  }
}
