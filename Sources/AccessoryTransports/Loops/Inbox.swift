import AccessoryCore
import Synchronization

/// What other threads hand to a loop, until the loop takes it all at once.
///
/// Two arrays change places, so that a loop in its steady state allocates nothing here. Whether there is anything is
/// also kept outside the lock, because a loop asks twice in every turn and the answer is nearly always no.
final class Inbox<Work>: @unchecked Sendable {
  private let given = Locked<[Work]>([])
  private var taken: [Work] = []
  /// Changed under the lock only.
  private let isFilled = Atomic<Bool>(false)

  /// Adds work, from any thread, and says whether it is the first since the last ``takeAll(_:)``: then the loop may
  /// have to be woken.
  func add(_ work: Work) -> Bool {
    given.withLock { given in
      given.append(work)
      isFilled.store(true, ordering: .releasing)
      return given.count == 1
    }
  }

  /// Whether there is nothing to take.
  var isEmpty: Bool { !isFilled.load(ordering: .acquiring) }

  /// Passes on what was given up to now, in order; what is given meanwhile waits for the next call. On the loop only.
  func takeAll(_ body: (Work) -> Void) {
    if isEmpty { return }
    given.withLock { given in
      swap(&given, &taken)
      isFilled.store(false, ordering: .releasing)
    }
    for work in taken { body(work) }
    taken.removeAll(keepingCapacity: true)
  }
}
