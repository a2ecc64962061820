import AccessoryTransports
import Glibc

/// What every command that runs for a while stands on: the loop on the main thread, and Ctrl-C as an event.
final class Stage {
  let loop: EpollLoop
  /// The signal that was asked to stop with, if any.
  private(set) var signal: Int32?
  /// How often it was asked to: who asks twice does not want to wait.
  private(set) var signalCount = 0
  private var watch: SignalWatch?

  init(seed: UInt64? = nil) throws {
    loop = try EpollLoop(seed: seed ?? .random(in: .min ... .max))
    Self.raiseDescriptorLimit()
    // A peer that goes away is an error of its write, not the end of the process.
    Glibc.signal(SIGPIPE, SIG_IGN)
    watch = try SignalWatch([SIGINT, SIGTERM, SIGHUP], on: loop) { [unowned self] in
      signal = $0
      signalCount += 1
    }
  }

  /// A thousand accessories need more descriptors than a shell allows a program at first.
  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// The name of the signal for people.
  var signalName: String {
    switch signal {
    case SIGINT: "Ctrl-C"
    case SIGTERM: "SIGTERM"
    default: "SIGHUP"
    }
  }

  /// Runs until `condition` holds, a signal came, or `limit` has passed; whether it was the condition.
  func run(until condition: () -> Bool, limit: Duration? = nil) -> Bool {
    loop.run(until: { condition() || signal != nil }, limit: limit) && signal == nil
  }

  /// Lets what was said last go out: channels are closed in order, which takes a turn or two, and USB devices given
  /// back.
  func settle(until condition: () -> Bool, limit: Duration = .seconds(1)) {
    loop.run(until: { condition() && media.isIdle }, limit: limit)
  }
}
