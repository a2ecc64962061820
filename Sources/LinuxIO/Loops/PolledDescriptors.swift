import AccessoryCore
import Glibc

/// The descriptors that epoll refuses with EPERM: checked with `poll` every millisecond while one of them is needed.
///
/// Regular files are always ready, so waiting for them is useless. But umockdev's simulated USB devices are such
/// files, and libusb must check them while transfers are pending.
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
    // By index, and over those that are there now: a handler may cancel any watch and add others.
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
