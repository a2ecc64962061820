/// One thing that will happen at one time on one loop. Made by ``EventLoop/makeTimer(_:)``, moved as often as needed;
/// or by ``EventLoop/schedule(after:_:)``, and then it happens at most once.
///
/// What has one timer for all its life makes it without a closure and becomes its ``handler``.
public final class LoopTimer {
  /// When it will fire, or nil while it is not armed.
  @exclusivity(unchecked) public private(set) var deadline: Instant?

  /// The deadline under which the queue holds it; may be earlier than `deadline` after a move to later.
  @exclusivity(unchecked) var queuedAt: Instant?
  /// Releases its work when it has fired or is cancelled, because the owner of the timer is usually held by its work.
  @exclusivity(unchecked) var isOneShot = false
  @exclusivity(unchecked) private var work: (() -> Void)?
  /// Called when it fires. Not retained: the handler cancels the timer before it is released.
  @exclusivity(unchecked) public unowned var handler: (any TimerHandler)?
  private unowned let queue: TimerQueue

  init(queue: TimerQueue, work: @escaping () -> Void) {
    self.queue = queue
    self.work = work
  }

  /// Arms the timer, or moves it. Moving to a later time costs two stores: the queue notices when the old time comes.
  public func arm(at instant: Instant) {
    precondition(work != nil, "a timer from schedule(after:) cannot be rearmed: create one with makeTimer")
    deadline = instant
    if let queuedAt, queuedAt <= instant { return }
    queue.insert(self, at: instant)
  }

  /// Arms the timer, unless it fires before that anyway.
  public func arm(noLaterThan instant: Instant) {
    if let deadline, deadline <= instant { return }
    arm(at: instant)
  }

  /// Disarms the timer. It may be armed again, unless it was made to fire once.
  public func cancel() {
    deadline = nil
    if isOneShot { work = nil }
  }

  /// Does its work, now that its time has come and it is no longer in the queue.
  public func fire() {
    if let handler { return handler.timerFired(self) }
    let due = work
    if isOneShot { work = nil }
    due?()
  }

  /// The queue removes it so that it can be fired.
  func leaveQueue() {
    deadline = nil
    queuedAt = nil
  }
}

/// Called when a timer fires; see ``LoopTimer/handler``.
public protocol TimerHandler: AnyObject {
  /// The deadline of `timer` has come.
  func timerFired(_ timer: LoopTimer)
}
