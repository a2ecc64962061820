import Glibc

/// Threads for system calls that may block without limit.
package enum Worker {
  /// Runs `work` on a new thread. The thread blocks all signals except SIGPIPE, which the kernel sends to the thread
  /// that wrote, and those of a crash.
  ///
  /// - Throws: when no thread can be created.
  package static func start(_ work: @escaping @Sendable () -> Void) throws(SystemError) {
    let context = Unmanaged.passRetained(Work(work))
    var (mask, before) = (sigset_t(), sigset_t())
    sigfillset(&mask)
    for signal in [SIGPIPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT] { sigdelset(&mask, signal) }
    pthread_sigmask(SIG_SETMASK, nil, &before)
    // A thread inherits the mask of the thread that creates it.
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
