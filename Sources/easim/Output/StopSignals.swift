import Glibc
import LinuxIO
import Synchronization

/// Receives SIGINT, SIGTERM and SIGHUP on a separate thread, so that stopping works even if all other threads are
/// blocked.
enum StopSignals {
  private static let signals = [SIGINT, SIGTERM, SIGHUP]
  // The members are static, because signals are sent to the whole process.
  private static let firstSignal = Atomic<Int32>(0)
  private static let howMany = Atomic<Int>(0)

  static var first: Int32? {
    let signal = firstSignal.load(ordering: .acquiring)
    return signal == 0 ? nil : signal
  }

  static var count: Int { howMany.load(ordering: .acquiring) }

  /// The first signal as users know it.
  static var stopper: String? { first.map { $0 == SIGINT ? "Ctrl-C" : $0 == SIGTERM ? "SIGTERM" : "SIGHUP" } }

  /// Starts receiving the signals. Call this before creating other threads, because threads inherit the signal mask.
  ///
  /// - Parameters:
  ///   - secondInterrupt: how long the process may keep running if the second signal is SIGINT.
  ///   - wake: called after each signal, on the thread that received it.
  static func take(secondInterrupt: Duration = .zero, wake: @escaping @Sendable () -> Void = {}) throws {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    let wanted = set
    try Worker.start { wait(for: wanted, secondInterrupt, wake) }
  }

  private static func wait(for set: sigset_t, _ secondInterrupt: Duration, _ wake: () -> Void) {
    var (set, rule) = (set, StopRule(secondInterrupt: secondInterrupt))
    while true {
      var info = siginfo_t()
      let signal: Int32
      if let deadline = rule.deadline {
        let left = ContinuousClock.now.duration(to: deadline)
        if left <= .zero { die(rule.last) }
        var limit = timespec(
          tv_sec: Int(left.components.seconds), tv_nsec: Int(left.components.attoseconds / 1_000_000_000))
        signal = sigtimedwait(&set, &info, &limit)
      } else {
        signal = sigwaitinfo(&set, &info)
      }
      guard signal > 0 else { continue }
      rule.take(signal, at: ContinuousClock.now)
      _ = firstSignal.compareExchange(expected: 0, desired: signal, ordering: .acquiringAndReleasing)
      howMany.add(1, ordering: .releasing)
      wake()
    }
  }

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

/// Decides when a stop signal kills the process.
///
/// ```
///   running ──first──▶ shutting down ──second──▶ killed by the signal
/// ```
///
/// After the first signal, the process always has half a second to shut down. `timeout` sends SIGTERM twice, and for
/// one Ctrl-C both the terminal and a parent process may send SIGINT. After this half second, any further signal kills
/// the process immediately. In `easim soak`, however, a second Ctrl-C only stops the shrinking.
struct StopRule {
  static let leastTime = Duration.milliseconds(500)

  private let secondInterrupt: Duration
  /// The time at which the process will be killed, or nil before the second signal.
  private(set) var deadline: ContinuousClock.Instant?
  /// The most recent signal, which kills the process if it does not shut down in time.
  private(set) var last = SIGTERM
  private var earliest: ContinuousClock.Instant?
  private var mayInterrupt = true

  init(secondInterrupt: Duration) { self.secondInterrupt = secondInterrupt }

  mutating func take(_ signal: Int32, at now: ContinuousClock.Instant) {
    last = signal
    guard let earliest else {
      earliest = now + Self.leastTime
      return
    }
    let grace = signal == SIGINT && mayInterrupt ? secondInterrupt : .zero
    mayInterrupt = false
    let end = max(earliest, now + grace)
    deadline = min(end, deadline ?? end)
  }
}

/// Makes sure that the three standard descriptors are open, because some programs close them before they start another
/// program.
///
/// If a standard descriptor were closed, the next file or socket to be opened would get its number and could receive
/// output meant for stdout.
enum StandardDescriptors {
  /// Opens replacements for closed descriptors. Reading from or writing to a replacement fails, just as it would with
  /// the closed descriptor.
  static func hold() {
    // `open` returns the lowest free number, which is the closed descriptor's number.
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
    // With SIGXFSZ ignored, a write beyond the limit of `ulimit -f` fails as it would on a full disk, instead of ending
    // the process.
    signal(SIGXFSZ, SIG_IGN)
    // With SIGPIPE ignored, a write to a reader or peer that has exited fails instead of ending the process, so the
    // exit code does not depend on whether `head` reads all of stdout.
    signal(SIGPIPE, SIG_IGN)
  }
}
