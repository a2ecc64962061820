import AccessoryCore
import Glibc

/// Reports signals as events on a loop, for example for an orderly shutdown on Ctrl-C.
///
/// ```swift
/// let watch = try SignalWatch([SIGINT, SIGTERM], on: loop) { signal in simulator.detach() }
/// ```
///
/// The watch blocks the signals on the calling thread and on all threads that this thread starts later. Threads started
/// earlier would still be interrupted, so create the watch before you start threads.
public final class SignalWatch {
  private let source: WatchedDescriptor

  /// Watches for `signals` and calls `onEvent` on the loop with the number of each signal that arrives.
  public init(_ signals: [Int32], on loop: any PollingLoop, _ onEvent: @escaping (Int32) -> Void) throws {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    let code = pthread_sigmask(SIG_BLOCK, &set, nil)
    if code != 0 { throw SystemError("block signals", code: code) }
    let signals = try OwnedDescriptor(signalfd(-1, &set, O_NONBLOCK | O_CLOEXEC), "watch for signals")
    let source = WatchedDescriptor(taking: signals.release())
    self.source = source
    // The watch lasts until it is closed, even if its creator does not retain it.
    try source.watch(for: .readable, on: loop) { _ in
      // A signalfd_siginfo is 128 bytes long. The first four bytes are the signal number.
      var info = [UInt32](repeating: 0, count: 32)
      while read(source.number, &info, 128) == 128 { onEvent(Int32(info[0])) }
    }
  }

  /// Stops watching. The signals stay blocked, because a pending signal must not terminate the process.
  public func close() { source.close() }
}
