/// The timers of one loop, earliest first: a binary heap with stable order among equal deadlines.
///
/// Both loops share it, so that equal deadlines fire in the same order in virtual and in real time: the order in which
/// they were armed. A timer that moved to a later time stays where it is until its old time comes; one that was
/// cancelled is dropped then. So moving and cancelling are free, which matters because the retransmission timer moves
/// with every packet.
public final class TimerQueue {
  private struct Entry {
    var deadline: Instant
    var order: UInt64
    var timer: LoopTimer

    func precedes(_ other: Entry) -> Bool {
      deadline == other.deadline ? order < other.order : deadline < other.deadline
    }
  }

  private var heap: [Entry] = []
  private var nextOrder: UInt64 = 0

  /// An empty queue.
  public init() {}

  /// Makes a timer of this queue, not armed.
  public func makeTimer(_ work: @escaping () -> Void) -> LoopTimer {
    LoopTimer(queue: self, work: work)
  }

  /// When the earliest armed timer fires; nil when there is none, and then the loop may sleep without end.
  public var earliest: Instant? {
    settle()
    return heap.first?.deadline
  }

  /// Parts the timers armed up to now from those armed later, for ``popDue(at:armedBefore:)``.
  public var mark: UInt64 { nextOrder }

  /// Takes the next timer due at `now` and returns its work; nil when none is due.
  ///
  /// One at a time, because the work may arm, move or cancel others. A loop gives the mark that it took when its turn
  /// began to fire timers; what they arm for now is then left to the next turn, and timers that arm each other keep
  /// nothing else from its turn.
  public func popDue(at now: Instant, armedBefore mark: UInt64 = .max) -> (() -> Void)? {
    settle()
    guard let first = heap.first, first.deadline <= now, first.order < mark else { return nil }
    removeFirst()
    return first.timer.fire()
  }

  func insert(_ timer: LoopTimer, at deadline: Instant) {
    timer.queuedAt = deadline
    heap.append(Entry(deadline: deadline, order: nextOrder, timer: timer))
    nextOrder += 1
    siftUp(heap.count - 1)
  }

  /// Brings a live entry to the top: drops the cancelled, puts the moved where they belong now.
  private func settle() {
    while let first = heap.first {
      let timer = first.timer
      if timer.queuedAt == first.deadline, timer.deadline == first.deadline { return }
      removeFirst()
      // An entry that its timer no longer knows was replaced by an earlier one.
      guard timer.queuedAt == first.deadline else { continue }
      timer.queuedAt = nil
      if let deadline = timer.deadline { insert(timer, at: deadline) }
    }
  }

  private func removeFirst() {
    let moved = heap.removeLast()
    guard !heap.isEmpty else { return }
    heap.withUnsafeMutableBufferPointer { heap in
      var hole = 0
      while true {
        var child = 2 * hole + 1
        if child >= heap.count { break }
        if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
        if moved.precedes(heap[child]) { break }
        heap.swapAt(hole, child)
        hole = child
      }
      heap[hole] = moved
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
