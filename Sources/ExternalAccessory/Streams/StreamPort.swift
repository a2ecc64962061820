internal import AccessoryCore
import CoreFoundation
import Foundation

/// Delivers the events of one stream to its delegate, on the run loops that the stream is scheduled in.
///
/// ``StreamState`` decides which event is due. The port signals a run-loop source when one is; the run loop then performs
/// the source, and each performance delivers one event, so that a busy stream shares its run loop with others.
final class StreamPort: @unchecked Sendable {
  /// A run loop and a mode.
  private struct Schedule {
    var loop: RunLoop
    var core: CFRunLoop
    var mode: RunLoop.Mode
  }

  private let lock = Lock()
  private let signals: Locked<Int>
  private let main: MainDelivery
  private let isAppRunning: Locked<Bool>

  // Under the lock.
  private var state: StreamState
  private weak var stream: Stream?
  private weak var delegateObject: (any StreamDelegate)?
  /// Whether a delegate was set. Reading the weak reference retains the delegate for a moment, perhaps as its last owner,
  /// and its deinit may call this port. So the reference is read only where it can be released outside of the lock.
  private var hasDelegate = false
  private var schedules: [Schedule] = []
  /// Schedules in run loops of other threads, until those threads have added the source.
  private var pending: [(loop: RunLoop, mode: RunLoop.Mode)] = []
  private var source: CFRunLoopSource?
  /// The source is signalled, and no run loop has performed it yet.
  private var isSignalled = false
  /// A block on the main queue will deliver what the main run loop does not. One at a time: a busy main run loop takes
  /// blocks from its queue more slowly than its sources are signalled.
  private var isNudging = false

  init(_ direction: StreamState.Direction, in realm: AccessoryRealm) {
    state = StreamState(direction)
    signals = realm.signals
    main = realm.main
    isAppRunning = realm.isAppRunning
  }

  /// Sets the stream that delegates are called with. It is not retained.
  func belong(to stream: Stream) { lock.withLock { self.stream = stream } }

  var status: Stream.Status { lock.withLock { state.status } }
  var error: (any Error)? { lock.withLock { state.error } }

  var delegate: (any StreamDelegate)? {
    get { lock.withLock { delegateObject } }
    set {
      lock.withLock {
        delegateObject = newValue
        hasDelegate = newValue != nil
      }
      signalIfDue()
    }
  }

  /// Changes the state and signals the run loops if that made an event due.
  private func change<Value>(_ body: (inout StreamState) -> Value) -> Value {
    let value = lock.withLock { body(&state) }
    signalIfDue()
    return value
  }

  // MARK: What happens to the stream

  /// Returns whether this was the first time.
  func open() -> Bool { change { $0.open() } }

  /// Returns whether this was the first time.
  func close() -> Bool {
    let (isFirst, left) = lock.withLock { () -> (Bool, [Schedule]) in
      guard state.close() else { return (false, []) }
      pending = []
      defer { schedules = [] }
      return (true, schedules)
    }
    for schedule in left { remove(schedule) }
    return isFirst
  }

  /// Bytes arrived, or there is room again.
  func becomeReady() { change { $0.becomeReady() } }

  /// The app read or wrote; `isReady` says whether there are bytes or room left.
  func wasUsed(isReady: Bool) { change { $0.wasUsed(isReady: isReady) } }

  /// No more bytes come.
  func end() { change { $0.end() } }

  /// The stream broke. The delegate hears of it if `isEvent`; otherwise only the status says so.
  func fail(_ error: any Error, isEvent: Bool) { change { $0.fail(error, isEvent: isEvent) } }

  /// The stream object is gone.
  func invalidate() {
    let last = lock.withLock { () -> CFRunLoopSource? in
      defer { source = nil }
      _ = state.close()
      (schedules, pending) = ([], [])
      if isSignalled { unsignal() }
      return source
    }
    if let last { CFRunLoopSourceInvalidate(last) }
  }

  // MARK: Scheduling

  func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) {
    if let core = Self.core(of: loop) { return add(Schedule(loop: loop, core: core, mode: mode)) }
    // Only the thread of a run loop can get its CFRunLoop, so a timer there adds the source.
    lock.withLock { pending.append((loop, mode)) }
    let hop = Hop(port: self, loop: loop, mode: mode)
    let timer = Timer(timeInterval: 0, repeats: false) { _ in hop.port.arrive(hop.loop, hop.mode) }
    loop.add(timer, forMode: mode)
  }

  /// On the thread of the run loop. Does nothing if the stream was removed from it in the meantime.
  private func arrive(_ loop: RunLoop, _ mode: RunLoop.Mode) {
    if removePending(loop, mode) { schedule(in: loop, forMode: mode) }
  }

  /// Returns whether there was such a schedule.
  private func removePending(_ loop: RunLoop, _ mode: RunLoop.Mode) -> Bool {
    lock.withLock {
      let count = pending.count
      pending.removeAll { $0.loop === loop && $0.mode == mode }
      return pending.count < count
    }
  }

  func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) {
    _ = removePending(loop, mode)
    let found = lock.withLock { () -> Schedule? in
      guard let index = schedules.firstIndex(where: { $0.loop === loop && $0.mode == mode }) else { return nil }
      return schedules.remove(at: index)
    }
    if let found { remove(found) }
  }

  private struct Hop: @unchecked Sendable {
    let port: StreamPort
    let loop: RunLoop
    let mode: RunLoop.Mode
  }

  private static func core(of loop: RunLoop) -> CFRunLoop? {
    if loop === RunLoop.main { return CFRunLoopGetMain() }
    return loop === RunLoop.current ? CFRunLoopGetCurrent() : nil
  }

  private func add(_ schedule: Schedule) {
    let source = lock.withLock { () -> CFRunLoopSource? in
      guard state.status != .closed else { return nil }
      let isKnown = schedules.contains { $0.loop === schedule.loop && $0.mode == schedule.mode }
      if !isKnown { schedules.append(schedule) }
      return madeSource()
    }
    guard let source else { return }
    CFRunLoopAddSource(schedule.core, source, schedule.mode.core)
    signalIfDue()
  }

  private func remove(_ schedule: Schedule) {
    guard let source = lock.withLock({ source }) else { return }
    CFRunLoopRemoveSource(schedule.core, source, schedule.mode.core)
    lock.withLock { if schedules.isEmpty, isSignalled { unsignal() } }
  }

  /// Under the lock. The source retains the port while a run loop retains the source.
  private func madeSource() -> CFRunLoopSource? {
    if let source { return source }
    var context = CFRunLoopSourceContext()
    context.info = Unmanaged.passUnretained(self).toOpaque()
    context.retain = { info in info.map { UnsafeRawPointer(Unmanaged<StreamPort>.fromOpaque($0).retain().toOpaque()) } }
    context.release = { info in info.map { Unmanaged<StreamPort>.fromOpaque($0).release() } }
    context.perform = { info in info.map { Unmanaged<StreamPort>.fromOpaque($0).takeUnretainedValue().perform() } }
    source = CFRunLoopSourceCreate(nil, 0, &context)
    return source
  }

  // MARK: Delivery

  /// Wakes the run loops if an event is due and there is a delegate to hear it.
  func signalIfDue() {
    let woken = lock.withLock { () -> (source: CFRunLoopSource, schedules: [Schedule], nudges: Bool)? in
      guard !isSignalled, !schedules.isEmpty, hasDelegate, dueEvent != nil, let source else { return nil }
      isSignalled = true
      signals.withLock { $0 += 1 }
      let nudges = !isNudging && schedules.contains { $0.loop === RunLoop.main }
      if nudges { isNudging = true }
      return (source, schedules, nudges)
    }
    guard let woken else { return }
    CFRunLoopSourceSignal(woken.source)
    for schedule in woken.schedules { CFRunLoopWakeUp(schedule.core) }
    guard woken.nudges else { return }
    // A main run loop that runs performs its source itself, and in the right mode.
    main.nudge(
      begin: { [weak self] in self?.endNudge() }, unlessRunning: { [weak self] in self?.perform() })
  }

  private func endNudge() { lock.withLock { isNudging = false } }

  /// Under the lock.
  private func unsignal() {
    isSignalled = false
    signals.withLock { $0 -= 1 }
  }

  private func perform() {
    let wasSignalled = lock.withLock { () -> Bool in
      defer { isSignalled = false }
      return isSignalled
    }
    guard wasSignalled else { return }
    // It stays in the count until the delegate has heard the event, because tests wait for the count.
    deliver()
    signalIfDue()
    signals.withLock { $0 -= 1 }
  }

  /// Delivers everything that is due, if it would be delivered on the main thread: before a notification that must come
  /// after it.
  func deliverAllOnMain() {
    let isOnMain = lock.withLock {
      schedules.contains { schedule in
        guard schedule.loop === RunLoop.main else { return false }
        guard let running = RunLoop.main.currentMode else { return true }
        return schedule.mode == running || schedule.mode == .common
      }
    }
    guard isOnMain else { return }
    while deliver() {}
  }

  /// Delivers the next event. Returns whether there was one.
  @discardableResult
  private func deliver() -> Bool {
    // Delegate and stream are released outside of the lock: this may be their last reference, and their deinit may take
    // the lock.
    let next = lock.withLock { () -> (delegate: (any StreamDelegate)?, stream: Stream?, event: Stream.Event?) in
      let held = (delegateObject, stream)
      if held.0 == nil { hasDelegate = false }
      guard held.0 != nil, held.1 != nil, let event = dueEvent else { return (held.0, held.1, nil) }
      state.take(event)
      return (held.0, held.1, event)
    }
    guard let delegate = next.delegate, let stream = next.stream, let event = next.event else { return false }
    delegate.stream(stream, handle: event)
    return true
  }

  /// What is due now; nothing while the app is suspended. Under the lock.
  private var dueEvent: Stream.Event? { isAppRunning.withLock { $0 } ? state.dueEvent : nil }
}

extension RunLoop.Mode {
  /// The mode as CoreFoundation knows it. It recognises the common modes by their address, not by their name.
  fileprivate var core: CFString? {
    self == .common ? kCFRunLoopCommonModes : CFStringCreateWithCString(nil, rawValue, 0x0800_0100)
  }
}
