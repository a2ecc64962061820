/// What other threads hand to a loop, until the loop takes it all at once.
///
/// Two arrays change places, so that a loop in its steady state allocates nothing here.
final class Inbox<Work>: @unchecked Sendable {
  private let lock = Lock()
  private var given: [Work] = []
  private var taken: [Work] = []

  /// Adds work, from any thread, and says whether it is the first since the last ``takeAll(_:)``: then the loop may
  /// have to be woken.
  func add(_ work: Work) -> Bool {
    lock.with {
      given.append(work)
      return given.count == 1
    }
  }

  /// Whether there is nothing to take.
  var isEmpty: Bool { lock.with { given.isEmpty } }

  /// Passes on what was given up to now, in order; what is given meanwhile waits for the next call. On the loop only.
  func takeAll(_ body: (Work) -> Void) {
    lock.with { swap(&given, &taken) }
    for work in taken { body(work) }
    taken.removeAll(keepingCapacity: true)
  }
}
