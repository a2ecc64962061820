import AccessoryCore
import Glibc

final class EpollWatch: DescriptorWatch {
  enum Means {
    /// epoll reports the descriptor's events with this token.
    case epoll(token: WatchTable.Token)
    /// epoll refuses the descriptor, so the loop polls it.
    case polling
  }

  let descriptor: Int32
  let means: Means
  // Overlapping access is not checked, because a watch belongs to one loop and calls no other code while these
  // properties change.
  @exclusivity(unchecked) private(set) var interest: Readiness
  /// The handler. Cancellation sets the handler to nil, so that events already reported are dropped.
  @exclusivity(unchecked) fileprivate(set) var handler: (any DescriptorHandler)?
  private weak var registry: EpollRegistry?

  init(
    descriptor: Int32, interest: Readiness, means: Means, handler: any DescriptorHandler, registry: EpollRegistry
  ) {
    self.descriptor = descriptor
    self.interest = interest
    self.means = means
    self.handler = handler
    self.registry = registry
  }

  func change(to interest: Readiness) {
    guard handler != nil else { return }
    self.interest = interest
    registry?.interestChanged(self)
  }

  func cancel() {
    guard handler != nil else { return }
    handler = nil
    registry?.remove(self)
  }
}

extension EpollWatch {
  /// Releases the handler when the loop is released. A handler that retains this watch would otherwise keep both in
  /// memory forever.
  func loopIsGone() {
    handler = nil
  }
}

/// Stores a loop's watches, indexed by small numbers that epoll returns with each event.
///
/// Numbers are reused, so each token also records how many times its number has been used. If an event was reported
/// before its watch was cancelled, and another watch has reused the number (or even the descriptor), the counts differ
/// and the event is dropped.
struct WatchTable {
  typealias Token = UInt64

  private struct Slot {
    var generation: UInt32 = 0
    var watch: EpollWatch?
  }

  private var slots: [Slot] = []
  private var free: [Int] = []

  /// Reserves a number. The watch is stored later with ``put(_:at:)``, because a watch needs its number when it is
  /// created.
  mutating func reserve() -> Token {
    let index = free.popLast() ?? slots.endIndex
    if index == slots.endIndex { slots.append(Slot()) }
    slots[index].generation &+= 1
    return Token(slots[index].generation) << 32 | Token(index)
  }

  mutating func put(_ watch: EpollWatch, at token: Token) {
    slots[Self.index(token)].watch = watch
  }

  mutating func release(_ token: Token) {
    slots[Self.index(token)].watch = nil
    free.append(Self.index(token))
  }

  subscript(token: Token) -> EpollWatch? {
    let slot = slots[Self.index(token)]
    return slot.generation == UInt32(token >> 32) ? slot.watch : nil
  }

  var watches: [EpollWatch] { slots.compactMap(\.watch) }

  private static func index(_ token: Token) -> Int { Int(token & 0xFFFF_FFFF) }
}

/// Checks descriptors that epoll refuses with EPERM by calling `poll` every millisecond while any of them is watched.
///
/// Regular files are always ready, so waiting for them is normally useless. However, umockdev simulates USB devices
/// with regular files, which libusb must check while transfers are pending.
final class PolledDescriptors {
  private static let tick = Duration.milliseconds(1)

  private(set) var watches: [EpollWatch] = []
  private let now: () -> Instant
  private var timer: LoopTimer?

  init(timers: TimerQueue, now: @escaping () -> Instant) {
    self.now = now
    timer = timers.makeTimer { [weak self] in self?.ask() }
  }

  func add(_ watch: EpollWatch) {
    watches.append(watch)
    interestChanged()
  }

  func remove(_ watch: EpollWatch) {
    watches.removeAll { $0 === watch }
  }

  func interestChanged() {
    guard timer?.deadline == nil, watches.contains(where: { !$0.interest.isEmpty }) else { return }
    timer?.arm(at: now() + Self.tick)
  }

  private func ask() {
    // The loop iterates over a copy, because a handler may cancel any watch and add others.
    let current = watches
    for watch in current where !watch.interest.isEmpty {
      var question = pollfd(fd: watch.descriptor, events: Self.mask(watch.interest), revents: 0)
      guard watch.handler != nil, poll(&question, 1, 0) > 0 else { continue }
      watch.handler?.descriptorReady(Self.readiness(question.revents))
    }
    interestChanged()
  }

  private static func mask(_ interest: Readiness) -> Int16 {
    Int16((interest.contains(.readable) ? POLLIN : 0) | (interest.contains(.writable) ? POLLOUT : 0))
  }

  private static func readiness(_ events: Int16) -> Readiness {
    var readiness: Readiness = []
    if Int32(events) & POLLIN != 0 { readiness.insert(.readable) }
    if Int32(events) & POLLOUT != 0 { readiness.insert(.writable) }
    if Int32(events) & (POLLHUP | POLLERR | POLLNVAL) != 0 { readiness.insert(.hangup) }
    return readiness
  }
}
