import AccessoryTransports
import Glibc
import Synchronization

/// SIGINT, SIGTERM and SIGHUP, received by a thread of their own, so that they work whatever the other threads wait for.
///
/// ```
///   running ──first──▶ shutting down ──second──▶ grace period ──it is over, or third──▶ killed by the signal
/// ```
///
/// The grace period exists because a terminal and a parent process may both send the same Ctrl-C, and because `easim soak`
/// uses the second one to stop shrinking.
enum StopSignals {
  private static let signals = [SIGINT, SIGTERM, SIGHUP]
  // Static, because signals belong to the process.
  private static let firstSignal = Atomic<Int32>(0)
  private static let howMany = Atomic<Int>(0)

  /// The first signal; nil if there was none.
  static var first: Int32? {
    let signal = firstSignal.load(ordering: .acquiring)
    return signal == 0 ? nil : signal
  }

  /// How many signals arrived.
  static var count: Int { howMany.load(ordering: .acquiring) }

  /// Starts to receive the signals. Call it before other threads start: they inherit the signal mask.
  ///
  /// - Parameters:
  ///   - grace: how long the process may run on after the second signal.
  ///   - wake: called after each signal, on the thread that received it.
  static func take(grace: Duration, wake: @escaping @Sendable () -> Void) throws {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    let wanted = set
    try Worker.start { wait(for: wanted, grace, wake) }
  }

  private static func wait(for set: sigset_t, _ grace: Duration, _ wake: () -> Void) {
    var set = set
    while true {
      var info = siginfo_t()
      var limit = timespec(
        tv_sec: Int(grace.components.seconds), tv_nsec: Int(grace.components.attoseconds / 1_000_000_000))
      let signal = count < 2 ? sigwaitinfo(&set, &info) : sigtimedwait(&set, &info, &limit)
      if signal < 0 {
        if errno == EAGAIN { die(first ?? SIGINT) }
        continue
      }
      _ = firstSignal.compareExchange(expected: 0, desired: signal, ordering: .acquiringAndReleasing)
      howMany.add(1, ordering: .releasing)
      if count > 2 { die(signal) }
      wake()
    }
  }

  /// Ends the process by the signal's default action.
  private static func die(_ signal: Int32) -> Never {
    Terminal.giveBack()
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, signal)
    Glibc.signal(signal, SIG_DFL)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    kill(getpid(), signal)
    _exit(128 + signal)
  }
}
