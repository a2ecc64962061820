/// One thing that will happen at one time on one loop. Made by ``EventLoop/makeTimer(_:)``, moved as often as needed.
public final class LoopTimer {
  /// When it will fire, or nil while it is not armed.
  public private(set) var deadline: Instant?

  /// The deadline under which the queue holds it; may be earlier than `deadline` after a move to later.
  var queuedAt: Instant?
  let work: () -> Void
  private unowned let queue: TimerQueue

  init(queue: TimerQueue, work: @escaping () -> Void) {
    self.queue = queue
    self.work = work
  }

  /// Arms the timer, or moves it. Moving to a later time costs two stores: the queue notices when the old time comes.
  public func arm(at instant: Instant) {
    deadline = instant
    if let queuedAt, queuedAt <= instant { return }
    queue.insert(self, at: instant)
  }

  /// Disarms the timer. It may be armed again.
  public func cancel() {
    deadline = nil
  }

  func disarmForFiring() {
    deadline = nil
    queuedAt = nil
  }
}
