import AccessoryFormats

/// Where everything happens: one thread of control that owns channels, machines, timers and chance.
///
/// Nothing on a loop takes a lock, because nothing on a loop runs at the same time as anything else on it. Code on
/// other threads reaches a loop through ``execute(_:)`` alone.
///
/// There are two kinds: `EpollLoop` (real time, descriptors) and `VirtualLoop` (no descriptors; jumps from deadline
/// to deadline). Code that only needs an `EventLoop` runs on both, and that is how the flicker takes microseconds in
/// a test and half a second on a wire.
public protocol EventLoop: AnyObject, Sendable {
  /// The time of this turn. It does not move while one turn's work runs.
  var now: Instant { get }

  /// Whether the caller runs on this loop.
  var isCurrent: Bool { get }

  /// The loop's chance; a loop made with a seed repeats itself. Used on the loop only.
  var random: SeededRandom { get set }

  /// Makes a timer that calls `work` on the loop when its deadline comes; not armed yet. Made and used on the loop only.
  ///
  /// A timer is made once and moved often: moving one allocates nothing, so it may be moved with every packet.
  func makeTimer(_ work: @escaping () -> Void) -> LoopTimer

  /// Runs `work` on the loop in a later turn. The only call that is allowed from other threads.
  func execute(_ work: @escaping @Sendable () -> Void)
}

extension EventLoop {
  /// Makes a timer that does nothing until it has a ``LoopTimer/handler``.
  public func makeTimer() -> LoopTimer {
    makeTimer {}
  }

  /// Makes a timer that fires once, `delay` from now, unless it is cancelled. After that it holds nothing.
  @discardableResult
  public func schedule(after delay: Duration, _ work: @escaping () -> Void) -> LoopTimer {
    let timer = makeTimer(work)
    timer.isOneShot = true
    timer.arm(at: now + delay)
    return timer
  }

  /// Traps, with a sentence, when the caller is not on this loop.
  public func preconditionCurrent(_ what: StaticString = #function) {
    precondition(isCurrent, "\(what) belongs to its event loop: call it through execute(_:)")
  }
}
