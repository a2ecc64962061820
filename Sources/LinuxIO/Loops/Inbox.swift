import AccessoryCore
import Synchronization

/// Work that other threads give to a loop, until the loop takes all of it at once.
///
/// Two arrays are swapped, so that in a steady state nothing is allocated here. Whether there is work is also kept
/// outside the lock, because a loop checks twice in every turn and there is hardly ever any.
final class Inbox<Work>: @unchecked Sendable {
  private let given = Locked<[Work]>([])
  private var taken: [Work] = []
  /// Changed under the lock only.
  private let isFilled = Atomic<Bool>(false)

  /// Adds work, from any thread, and returns whether it is the first since the last ``takeAll(_:)``: then the loop may
  /// have to be woken.
  func add(_ work: Work) -> Bool {
    given.withLock { given in
      given.append(work)
      isFilled.store(true, ordering: .releasing)
      return given.count == 1
    }
  }

  /// Whether there is no work.
  var isEmpty: Bool { !isFilled.load(ordering: .acquiring) }

  /// Calls `body` with the work that was added so far, in order; work that is added meanwhile waits for the next call.
  /// On the loop only.
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
