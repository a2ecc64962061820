/// Stores a loop's timers in a binary heap, earliest first. Timers with equal deadlines keep their order.
///
/// Both kinds of loops use this queue, so timers with equal deadlines fire in the order in which they were armed, in
/// virtual and in real time. A timer that is cancelled or moved to a later time stays in the heap until its old
/// deadline. Moving and cancelling timers therefore cost almost nothing, which matters because the retransmission timer
/// moves with every packet.
package final class TimerQueue {
  private struct Entry {
    var deadline: Instant
    var order: UInt64
    var timer: LoopTimer

    func precedes(_ other: Entry) -> Bool {
      deadline == other.deadline ? order < other.order : deadline < other.deadline
    }
  }

  // The queue and its timers belong to one loop and call no outside code. Overlapping access is not checked, because
  // the checks would account for a third of a timer's cost.
  @exclusivity(unchecked) private var heap: [Entry] = []
  @exclusivity(unchecked) private var nextOrder: UInt64 = 0

  package init() {}

  package func makeTimer(_ work: @escaping () -> Void) -> LoopTimer {
    LoopTimer(queue: self, work: work)
  }

  /// The deadline of the earliest armed timer. If no timer is armed, this is nil, and the loop may sleep indefinitely.
  package var earliest: Instant? {
    settle()
    return heap.first?.deadline
  }

  /// A number that separates timers armed so far from timers armed later, for ``popDue(at:armedBefore:)``.
  package var mark: UInt64 { nextOrder }

  /// Removes and returns the next timer that is due at `now`, so that the caller can fire it. Returns nil if no timer
  /// is due.
  ///
  /// Timers are removed one at a time, because the work of one timer may arm, move or cancel other timers. A loop
  /// passes the ``mark`` that it read at the start of its turn. Timers armed during the turn then wait for the next
  /// turn, so timers that arm each other do not block other work.
  package func popDue(at now: Instant, armedBefore mark: UInt64 = .max) -> LoopTimer? {
    // An entry's deadline is never later than its timer's, so if the first entry is not due, no timer is due.
    if heap.isEmpty || now < heap[0].deadline { return nil }
    settle()
    guard !heap.isEmpty, heap[0].deadline <= now, heap[0].order < mark else { return nil }
    let due = removeFirst()
    due.leaveQueue()
    return due
  }

  /// Cancels every timer, and releases the work of one-shot timers.
  package func cancelAll() {
    // Releasing work may cancel other timers, so work is released only after the heap is empty.
    let cancelled = heap
    heap = []
    for entry in cancelled {
      entry.timer.cancel()
      entry.timer.leaveQueue()
    }
  }

  func insert(_ timer: LoopTimer, at deadline: Instant) {
    timer.queuedAt = deadline
    heap.append(Entry(deadline: deadline, order: nextOrder, timer: timer))
    nextOrder += 1
    siftUp(heap.count - 1)
  }

  /// Drops cancelled entries and moves entries whose deadlines have changed, until the top entry is active.
  private func settle() {
    while !heap.isEmpty {
      let queued = heap[0].deadline
      if heap[0].timer.queuedAt == queued {
        if heap[0].timer.deadline == queued { return }
        let timer = heap[0].timer
        if let moved = timer.deadline {
          timer.queuedAt = moved
          heap[0].deadline = moved
          heap[0].order = nextOrder
          nextOrder += 1
          siftDown()
          continue
        }
        timer.queuedAt = nil
      }
      // The timer was cancelled, or has a newer entry.
      removeFirst()
    }
  }

  @discardableResult
  private func removeFirst() -> LoopTimer {
    heap.withUnsafeMutableBufferPointer { heap in heap.swapAt(0, heap.count - 1) }
    let removed = heap.removeLast().timer
    siftDown()
    return removed
  }

  // With an unsafe buffer, swapping entries does not retain and release their timers.

  private func siftDown() {
    heap.withUnsafeMutableBufferPointer { heap in
      var parent = 0
      while 2 * parent + 1 < heap.count {
        let (left, right) = (2 * parent + 1, 2 * parent + 2)
        var least = heap[left].precedes(heap[parent]) ? left : parent
        if right < heap.count, heap[right].precedes(heap[least]) { least = right }
        if least == parent { return }
        heap.swapAt(parent, least)
        parent = least
      }
    }
  }

  private func siftUp(_ index: Int) {
    heap.withUnsafeMutableBufferPointer { heap in
      var child = index
      while child > 0 {
        let parent = (child - 1) / 2
        guard heap[child].precedes(heap[parent]) else { return }
        heap.swapAt(child, parent)
        child = parent
      }
    }
  }
}

/// A timer that fires on one loop. A timer from ``EventLoop/makeTimer(_:)`` can be moved as often as needed; a timer
/// from ``EventLoop/schedule(after:_:)`` fires at most once.
///
/// An object that uses one timer for its whole lifetime creates it without a closure and becomes its ``handler``.
public final class LoopTimer {
  /// The time at which the timer will fire, or nil while it is not armed.
  @exclusivity(unchecked) public private(set) var deadline: Instant?

  /// The deadline under which the queue holds the timer; it may be earlier than `deadline` if the timer was moved to a
  /// later time.
  @exclusivity(unchecked) var queuedAt: Instant?
  /// Whether the timer releases its work after firing or cancellation; the work usually retains the timer's owner.
  @exclusivity(unchecked) var isOneShot = false
  @exclusivity(unchecked) private var work: (() -> Void)?
  /// Called when the timer fires. The timer does not retain its handler, so a handler must cancel the timer before the
  /// handler is released.
  @exclusivity(unchecked) public unowned var handler: (any TimerHandler)?
  /// An armed timer and its queue refer to each other until the timer fires or the loop is released.
  private let queue: TimerQueue

  init(queue: TimerQueue, work: @escaping () -> Void) {
    self.queue = queue
    self.work = work
  }

  /// Arms the timer, or moves it. Moving a timer to a later time takes only two memory writes; the queue handles the
  /// move when the old deadline arrives.
  public func arm(at instant: Instant) {
    precondition(work != nil, "a timer from schedule(after:) cannot be rearmed: create one with makeTimer")
    deadline = instant
    if let queuedAt, queuedAt <= instant { return }
    queue.insert(self, at: instant)
  }

  /// Arms the timer, unless it is already due to fire earlier.
  public func arm(noLaterThan instant: Instant) {
    if let deadline, deadline <= instant { return }
    arm(at: instant)
  }

  /// Disarms the timer. The timer can be armed again, unless it is a one-shot timer.
  public func cancel() {
    deadline = nil
    if isOneShot { work = nil }
  }

  /// Runs the timer's work. The timer has already been removed from the queue.
  public func fire() {
    if let handler { return handler.timerFired(self) }
    let due = work
    if isOneShot { work = nil }
    due?()
  }

  func leaveQueue() {
    deadline = nil
    queuedAt = nil
  }
}

/// Called when a timer fires; see ``LoopTimer/handler``.
public protocol TimerHandler: AnyObject {
  /// Called when `timer` reaches its deadline.
  func timerFired(_ timer: LoopTimer)
}
