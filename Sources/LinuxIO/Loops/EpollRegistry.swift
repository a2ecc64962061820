import AccessoryCore
import Glibc

/// Manages an ``EpollLoop``'s descriptors: the epoll instance, the watches, and a fallback for descriptors that epoll
/// refuses.
///
/// Requested readiness is reported in every turn while it lasts. Hang-ups are reported even if they were not requested,
/// which would keep the loop busy while a channel is paused. A watch that requests nothing therefore receives a hang-up
/// once, and again only after its interest has changed. A requested half-close is also reported in every turn, so a
/// watcher that has seen it should stop requesting it.
final class EpollRegistry {
  private static let wakeUp = WatchTable.Token.max
  /// The maximum number of events per turn. Further events wait for the next turn; the kernel orders events fairly.
  private static let eventsPerTurn = 256

  private let epoll: Int32
  private let wakeUpDescriptor: Int32
  private let events: UnsafeMutableRawPointer
  // Overlapping access is not checked, because the table belongs to one loop and calls no other code while it changes.
  @exclusivity(unchecked) private var table = WatchTable()
  private let polled: PolledDescriptors
  /// Watches whose interest could not be changed because the kernel was out of memory.
  private var unchanged: [EpollWatch] = []
  /// How long to wait before retrying a failed change, in nanoseconds.
  private static let retryInterval: Int64 = 10_000_000

  init(polled: PolledDescriptors) throws(SystemError) {
    let epoll = epoll_create1(O_CLOEXEC)
    guard epoll >= 0 else { throw .last("make an epoll instance") }
    let wakeUp = eventfd(0, O_CLOEXEC | O_NONBLOCK)
    guard wakeUp >= 0, clinux_epoll_control(epoll, EpollEvent.add, wakeUp, EpollEvent.input, Self.wakeUp) == 0 else {
      let error = SystemError.last("make an eventfd")
      if wakeUp >= 0 { close(wakeUp) }
      close(epoll)
      throw error
    }
    self.polled = polled
    self.epoll = epoll
    wakeUpDescriptor = wakeUp
    events = .allocate(byteCount: Self.eventsPerTurn * EpollEvent.stride, alignment: 8)
  }

  deinit {
    for watch in table.watches + polled.watches { watch.loopIsGone() }
    events.deallocate()
    close(epoll)
    close(wakeUpDescriptor)
  }

  // MARK: - Watches

  func add(
    _ descriptor: Int32, interest: Readiness, handler: any DescriptorHandler
  ) throws(SystemError) -> EpollWatch {
    let token = table.reserve()
    if control(EpollEvent.add, descriptor, Self.mask(interest), token) {
      let watch = EpollWatch(
        descriptor: descriptor, interest: interest, means: .epoll(token: token), handler: handler, registry: self)
      table.put(watch, at: token)
      return watch
    }
    let code = errno
    table.release(token)
    // epoll returns this error for regular files, and for the files that umockdev uses in place of USB devices.
    guard code == EPERM else { throw SystemError("watch descriptor \(descriptor)", code: code) }
    let watch = EpollWatch(
      descriptor: descriptor, interest: interest, means: .polling, handler: handler, registry: self)
    polled.add(watch)
    return watch
  }

  func interestChanged(_ watch: EpollWatch) {
    switch watch.means {
    case .polling: polled.interestChanged()
    case .epoll(let token):
      if control(EpollEvent.modify, watch.descriptor, Self.mask(watch.interest), token) { return }
      precondition(
        errno != EBADF && errno != ENOENT,
        "a descriptor was closed before its watch was cancelled: \(SystemError.reason(errno))")
      // The kernel is out of memory, so the change is retried in a later turn.
      unchanged.append(watch)
    }
  }

  func remove(_ watch: EpollWatch) {
    switch watch.means {
    case .polling: polled.remove(watch)
    case .epoll(let token):
      table.release(token)
      unchanged.removeAll { $0 === watch }
      // After any other failure, the watch and its token last until the descriptor is closed.
      let done = control(EpollEvent.delete, watch.descriptor, 0, token)
      precondition(
        done || errno != EBADF && errno != ENOENT,
        "a descriptor was closed before its watch was cancelled: \(SystemError.reason(errno))")
    }
  }

  // MARK: - Turns

  /// Waits until a descriptor is ready, ``wake()`` is called or `timeout` nanoseconds have passed. A negative `timeout`
  /// means no limit. Returns the number of events for ``dispatch(_:)``.
  func wait(timeout: Int64) -> Int {
    if !unchanged.isEmpty {
      let waiting = unchanged
      unchanged = []
      for watch in waiting { interestChanged(watch) }
    }
    let limit = unchanged.isEmpty || 0..<Self.retryInterval ~= timeout ? timeout : Self.retryInterval
    let count = clinux_epoll_wait(epoll, events, Int32(Self.eventsPerTurn), limit)
    if count >= 0 { return Int(count) }
    precondition(errno == EINTR || errno == ENOMEM, "epoll cannot wait: \(SystemError.reason(errno))")
    return 0
  }

  func dispatch(_ count: Int) {
    for index in 0..<count {
      let token = EpollEvent.token(events, index)
      if token == Self.wakeUp {
        var signals: UInt64 = 0
        _ = read(wakeUpDescriptor, &signals, 8)
      } else if let watch = table[token] {
        watch.handler?.descriptorReady(Self.readiness(EpollEvent.mask(events, index)))
      }
    }
  }

  /// Ends the current ``wait(timeout:)``, or makes the next one return immediately. Any thread may call this method.
  func wake() {
    var signal: UInt64 = 1
    // If a wake-up were lost, the loop would sleep although work is waiting. EAGAIN means that a wake-up is already
    // pending, so no other wake-up is needed.
    var tries = 0
    while write(wakeUpDescriptor, &signal, 8) != 8, errno != EAGAIN, tries < 100 { tries += 1 }
  }

  // MARK: - epoll's flags

  private func control(_ operation: Int32, _ descriptor: Int32, _ mask: UInt32, _ token: WatchTable.Token) -> Bool {
    clinux_epoll_control(epoll, operation, descriptor, mask, token) == 0
  }

  private static func mask(_ interest: Readiness) -> UInt32 {
    if interest.isEmpty { return EpollEvent.oneShot }
    var mask: UInt32 = 0
    // EPOLLIN also reports EOF.
    if interest.contains(.readable) { mask |= EpollEvent.input }
    if interest.contains(.halfClosed) { mask |= EpollEvent.halfClose }
    if interest.contains(.writable) { mask |= EpollEvent.output }
    return mask
  }

  private static func readiness(_ events: UInt32) -> Readiness {
    var readiness: Readiness = []
    if events & EpollEvent.input != 0 { readiness.insert(.readable) }
    if events & EpollEvent.halfClose != 0 { readiness.insert(.halfClosed) }
    if events & EpollEvent.output != 0 { readiness.insert(.writable) }
    if events & (EpollEvent.hangUp | EpollEvent.error) != 0 { readiness.insert(.hangup) }
    return readiness
  }
}
