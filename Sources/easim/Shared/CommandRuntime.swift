import Glibc
import LinuxIO

/// Runs an event loop for a command on the main thread. Signals are delivered as events, and output never blocks.
final class CommandRuntime {
  let loop: EpollLoop

  /// - Parameter secondInterrupt: how long the process may keep running after a second Ctrl-C; see ``StopSignals``.
  init(_ console: Console, seed: UInt64? = nil, secondInterrupt: Duration = .zero) throws {
    loop = try EpollLoop(seed: seed ?? .random(in: .min ... .max))
    Self.raiseDescriptorLimit()
    try StopSignals.take(secondInterrupt: secondInterrupt) { [loop] in
      loop.execute {}
      OutputLane.news.change { $0 &+= 1 }
    }
    console.goLive(on: loop)
  }

  /// Raises the limit on the number of file descriptors. A thousand accessories need more descriptors than a shell
  /// allows by default.
  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  var signal: Int32? { StopSignals.first }

  /// How many stop signals have arrived. After the second signal, easim stops waiting.
  var signalCount: Int { StopSignals.count }

  /// The name of the signal that stopped the command, or nil if there was none.
  var stopper: String? {
    signal.map { $0 == SIGINT ? "Ctrl-C" : $0 == SIGTERM ? "SIGTERM" : "SIGHUP" }
  }

  /// If a signal stopped the command, prints a message and returns the exit code.
  func stopped(_ console: Console, _ progress: String = "") -> ExitCode? {
    guard let stopper else { return nil }
    console.err("easim: stopped by \(stopper)\(progress)")
    return .checkFailed
  }

  /// Runs until `condition` is true, a signal arrives, or `limit` passes. Returns whether `condition` is true.
  func run(until condition: () -> Bool, limit: Duration? = nil) -> Bool {
    loop.run(until: { condition() || signal != nil }, limit: limit) && signal == nil
  }

  /// Runs until the last bytes have been sent. Closing channels and releasing USB devices takes one or two turns of the
  /// loop.
  func settle(until condition: () -> Bool, limit: Duration = .seconds(1)) {
    loop.run(until: { condition() && media.isIdle }, limit: limit)
  }
}
