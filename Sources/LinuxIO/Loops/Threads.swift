import AccessoryCore
import Glibc
import Synchronization

/// Protects state that threads change or wait on: a ``Locked`` value with a condition variable.
///
/// ```swift
/// let answer = Monitor<Int?>(nil)
/// Worker.start { let found = search(); answer.change { $0 = found } }
/// let found = answer.wait(atMost: .seconds(2)) { $0 }   // nil after two seconds
/// ```
package final class Monitor<State>: @unchecked Sendable {
  private let lock = Lock()
  private let changed: UnsafeMutablePointer<pthread_cond_t>
  private var state: State

  package init(_ state: State) {
    self.state = state
    changed = .allocate(capacity: 1)
    changed.initialize(to: pthread_cond_t())
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    // The monotonic clock is used, because the time of day may jump during a wait.
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    let code = pthread_cond_init(changed, &attributes)
    pthread_condattr_destroy(&attributes)
    precondition(code == 0, "a condition variable cannot be created")
  }

  deinit {
    pthread_cond_destroy(changed)
    changed.deallocate()
  }

  /// Accesses the state without waking any thread.
  package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try lock.withLock { try body(&state) }
  }

  /// Changes the state and wakes every waiting thread.
  package func change<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try withLock { state in
      defer { pthread_cond_broadcast(changed) }
      return try body(&state)
    }
  }

  /// Waits until `body` returns a result. `body` is called once at the start, and again after each change.
  ///
  /// - Parameter limit: the longest time to wait; unlimited by default.
  /// - Returns: nil if the limit expired first.
  package func wait<Result>(atMost limit: Duration? = nil, _ body: (inout State) -> Result?) -> Result? {
    let end = limit.map(Self.time)
    pthread_mutex_lock(lock.mutex)
    defer { pthread_mutex_unlock(lock.mutex) }
    // `&state` is passed again in each iteration, because passing it once for the whole loop would hold exclusive
    // access during the wait, while other threads change the state.
    while true {
      if let result = body(&state) { return result }
      if var end {
        if pthread_cond_timedwait(changed, lock.mutex, &end) == ETIMEDOUT { return body(&state) }
      } else {
        pthread_cond_wait(changed, lock.mutex)
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

/// Starts threads for system calls that may block indefinitely.
package enum Worker {
  /// Runs `work` on a new thread. The new thread blocks all signals except crash signals and SIGPIPE, which the kernel
  /// sends to the writing thread.
  ///
  /// - Throws: an error if no thread can be created.
  package static func start(_ work: @escaping @Sendable () -> Void) throws(SystemError) {
    let context = Unmanaged.passRetained(Work(work))
    var (mask, before) = (sigset_t(), sigset_t())
    sigfillset(&mask)
    for signal in [SIGPIPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT] { sigdelset(&mask, signal) }
    pthread_sigmask(SIG_SETMASK, nil, &before)
    // A new thread inherits the signal mask of its creator.
    pthread_sigmask(SIG_BLOCK, &mask, nil)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
        return nil
      }, context.toOpaque())
    guard code == 0 else {
      context.release()
      throw SystemError("start a thread", code: code)
    }
    pthread_detach(thread)
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}

/// Changes which threads Foundation considers the main thread.
package enum MainThread {
  /// Makes Foundation's `Thread.isMainThread` also return true wherever `isAlso` returns true. The call has no effect
  /// in programs that link Foundation statically (`-static-stdlib`).
  package static func isAlso(_ isAlso: @escaping @convention(c) () -> Bool) { clinux_main_thread_is_also(isAlso) }
}

/// Collects work that other threads pass to a loop, until the loop takes all of it at once.
///
/// The inbox swaps two arrays, so that steady traffic allocates nothing here. A flag outside the lock shows whether
/// there is work, because a loop checks twice per turn and rarely finds any.
final class Inbox: @unchecked Sendable {
  typealias Work = @Sendable () -> Void

  private let given = Locked<[Work]>([])
  private var taken: [Work] = []
  /// The flag is changed only while the lock is held.
  private let isFilled = Atomic<Bool>(false)

  /// Adds work from any thread. Returns true if this is the first work since the last ``takeAll(_:)``, in which case
  /// the loop may have to be woken.
  func add(_ work: @escaping Work) -> Bool {
    given.withLock { given in
      given.append(work)
      isFilled.store(true, ordering: .releasing)
      return given.count == 1
    }
  }

  var isEmpty: Bool { !isFilled.load(ordering: .acquiring) }

  /// Calls `body` with all work added so far, in order. Work added during this call waits for the next call. Call this
  /// method only on the loop.
  func takeAll(_ body: (Work) -> Void) {
    if isEmpty { return }
    given.withLock { given in
      swap(&given, &taken)
      isFilled.store(false, ordering: .releasing)
    }
    for work in taken { body(work) }
    taken.removeAll(keepingCapacity: true)
  }
}
