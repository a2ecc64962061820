internal import AccessoryCore
internal import AccessoryHost
import CoreFoundation
import Foundation

/// Delivers the events of one stream to its delegate, on the run loops in which the stream is scheduled.
///
/// ``StreamState`` decides which event comes next, and the port signals a run-loop source. Each time a run loop
/// performs the source, one event is delivered, so that a busy stream does not block other users of its run loop.
final class StreamPort: @unchecked Sendable {
  private struct Schedule {
    var loop: RunLoop
    var core: CFRunLoop
    var mode: RunLoop.Mode
    /// Whether this run loop's thread drains the main queue but is not the main thread. If so, the stream is also
    /// scheduled on the main run loop.
    var isBesideMain = false
  }

  private enum Listener {
    /// As on Apple's systems, the stream receives its own events if the app has set no delegate or has set the delegate
    /// to nil.
    case stream
    case app
    /// The app's delegate has been deallocated.
    case gone
  }

  private let lock = Lock()
  private let signals: Locked<Int>
  private let main: MainDelivery
  private let isAppRunning: Locked<Bool>
  private let note: @Sendable (StreamMisuse) -> Void

  // Protected by the lock.
  private var state: StreamState
  private weak var stream: (any Stream & StreamDelegate)?
  private weak var delegateObject: (any StreamDelegate)?
  /// The receiver of the events. Reading a weak reference to the delegate briefly retains it. If this turns out to be
  /// the last reference to the delegate, releasing it runs the delegate's deinit, which may call this port. The weak
  /// reference is therefore read only where the delegate can be released outside the lock.
  private var listener = Listener.stream
  private var noted: Set<StreamMisuse> = []
  private var schedules: [Schedule] = []
  /// The run loops, on other threads, in which the stream is scheduled but that do not have its source yet.
  private var pending: [(loop: RunLoop, mode: RunLoop.Mode)] = []
  private var source: CFRunLoopSource?
  private var isSignalled = false
  /// Whether a block is waiting on the main queue to deliver events if the main run loop is not running. Only one block
  /// is queued at a time, because a busy main run loop runs blocks more slowly than sources are signaled.
  private var isNudging = false
  private var watch = LoopWatch()

  init(_ direction: SessionLifetime.Stream, in realm: AccessoryRealm, note: @escaping @Sendable (StreamMisuse) -> Void)
  {
    state = StreamState(direction)
    self.note = note
    signals = realm.signals
    main = realm.main
    isAppRunning = realm.isAppRunning
  }

  func belong(to stream: any Stream & StreamDelegate) { lock.withLock { self.stream = stream } }

  var status: Stream.Status { lock.withLock { state.status } }
  var hasDueEvent: Bool {
    lock.withLock { state.dueEvent != nil && isHeard && !(schedules.isEmpty && pending.isEmpty) }
  }
  var error: (any Error)? { lock.withLock { state.error } }

  var delegate: (any StreamDelegate)? {
    get { lock.withLock { listener == .stream ? stream : delegateObject } }
    set {
      lock.withLock {
        let isOwn = newValue == nil || newValue === stream
        delegateObject = isOwn ? nil : newValue
        listener = isOwn ? .stream : .app
      }
      signalIfDue()
    }
  }

  /// Changes the state, and signals the run loops if an event is now due.
  private func change(_ body: (inout StreamState) -> Void) {
    lock.withLock { body(&state) }
    signalIfDue()
  }

  // MARK: State changes that ``StreamState`` defines

  func open() { change { $0.open() } }

  func close() -> Bool {
    let (isFirst, left) = lock.withLock { () -> (Bool, [Schedule]) in
      guard state.close() else { return (false, []) }
      pending = []
      watch.stop()
      defer { schedules = [] }
      return (true, schedules)
    }
    for schedule in left { remove(schedule) }
    return isFirst
  }

  func becomeReady() { change { $0.becomeReady() } }

  func wasUsed(isReady: Bool) { change { $0.wasUsed(isReady: isReady) } }

  func end() { change { $0.end() } }

  func fail(_ error: any Error, isEvent: Bool) { change { $0.fail(error, isEvent: isEvent) } }

  func invalidate() {
    let last = lock.withLock { () -> CFRunLoopSource? in
      defer { source = nil }
      _ = state.close()
      (schedules, pending) = ([], [])
      watch.stop()
      if isSignalled { unsignal() }
      return source
    }
    if let last { CFRunLoopSourceInvalidate(last) }
  }

  // MARK: Scheduling

  func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) {
    if Self.isBesideMain(loop) {
      // The stream is also scheduled in this thread's run loop, because the app may run it.
      add(Schedule(loop: .main, core: CFRunLoopGetMain(), mode: mode))
      return add(Schedule(loop: loop, core: CFRunLoopGetCurrent(), mode: mode, isBesideMain: true))
    }
    if let core = Self.core(of: loop) { return add(Schedule(loop: loop, core: core, mode: mode)) }
    // A run loop's CFRunLoop is available only on its own thread, so a timer on that thread adds the source.
    let watches = lock.withLock { () -> Bool in
      pending.append((loop, mode))
      return watch.begin()
    }
    if watches { watchLoops() }
    nonisolated(unsafe) let there = loop
    let timer = Timer(timeInterval: 0, repeats: false) { [self] _ in
      // The stream may have been removed from that run loop since.
      if removePending(there, mode) { schedule(in: there, forMode: mode) }
    }
    loop.add(timer, forMode: mode)
  }

  /// Cancels a pending schedule. Returns true if a schedule was pending.
  private func removePending(_ loop: RunLoop, _ mode: RunLoop.Mode) -> Bool {
    lock.withLock {
      let count = pending.count
      pending.removeAll { $0.loop === loop && $0.mode == mode }
      return pending.count < count
    }
  }

  func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) {
    let loop = Self.isBesideMain(loop) ? .main : loop
    _ = removePending(loop, mode)
    let found = lock.withLock { () -> [Schedule] in
      let isMeant = { (known: Schedule) in
        (known.loop === loop || known.isBesideMain && loop === RunLoop.main) && known.mode == mode
      }
      defer { schedules.removeAll(where: isMeant) }
      return schedules.filter(isMeant)
    }
    for schedule in found { remove(schedule) }
  }

  /// Returns true if the caller is on the main queue but not on the main thread, and passes the run loop of its own
  /// thread. Under Swift Testing and in an async `main`, the thread that drains the main queue never runs its own run
  /// loop, so the main run loop is used instead.
  private static func isBesideMain(_ loop: RunLoop) -> Bool {
    loop !== RunLoop.main && loop === RunLoop.current && MainDelivery.isOnMainQueue
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
    // An earlier signal may be stuck on a loop that is not running.
    signalIfDue(wakesAgain: true)
  }

  private func remove(_ schedule: Schedule) {
    guard let source = lock.withLock({ source }) else { return }
    CFRunLoopRemoveSource(schedule.core, source, schedule.mode.core)
    lock.withLock { if schedules.isEmpty, isSignalled { unsignal() } }
  }

  /// Returns the source, creating it if necessary. While a run loop retains the source, the source retains the port.
  /// Requires the lock.
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

  /// Wakes the run loops if an event is due and there is a delegate for it.
  func signalIfDue(wakesAgain: Bool = false) {
    let woken = lock.withLock { () -> (source: CFRunLoopSource, schedules: [Schedule], nudges: Bool, watches: Bool)? in
      guard !isSignalled || wakesAgain, !schedules.isEmpty, isHeard, dueEvent != nil, let source else { return nil }
      if !isSignalled {
        isSignalled = true
        signals.withLock { $0 += 1 }
      }
      let isOnMain = schedules.contains { $0.loop === RunLoop.main }
      let nudges = !isNudging && isOnMain
      if nudges { isNudging = true }
      return (source, schedules, nudges, watches: !isOnMain && watch.begin())
    }
    guard let woken else { return }
    if woken.watches { watchLoops() }
    CFRunLoopSourceSignal(woken.source)
    for schedule in woken.schedules { CFRunLoopWakeUp(schedule.core) }
    guard woken.nudges else { return }
    // If the main run loop is running, it performs the source in the right mode.
    main.nudge(
      begin: { [weak self] in if let self { lock.withLock { isNudging = false } } },
      unlessRunning: { [weak self] in self?.perform() })
  }

  /// Whether anything can receive events. The stream itself counts as a receiver until a misuse has been recorded for
  /// it. Requires the lock.
  private var isHeard: Bool {
    switch listener {
    case .app: true
    case .stream: !noted.contains(.ownDelegate)
    case .gone: false
    }
  }

  @discardableResult
  private func noteOnce(_ misuse: StreamMisuse) -> Bool {
    let isFirst = lock.withLock { noted.insert(misuse).inserted }
    if isFirst { note(misuse) }
    return isFirst
  }

  /// Cancels the signal. Requires the lock.
  private func unsignal() {
    isSignalled = false
    signals.withLock { $0 -= 1 }
  }

  private func perform() {
    let wasSignalled = lock.withLock { () -> Bool in
      defer { isSignalled = false }
      watch.end()
      return isSignalled
    }
    guard wasSignalled else { return }
    // The event counts as pending until the delegate has received it, because tests wait until no event is pending.
    deliver()
    signalIfDue()
    signals.withLock { $0 -= 1 }
  }

  /// Delivers all events that are pending on the main thread, because the next notification must follow those events.
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

  @discardableResult
  private func deliver() -> Bool {
    // The delegate and the stream are released outside the lock, because these local references may be the last ones
    // and a deinit may take the lock.
    let isOwn = lock.withLock { listener == .stream && dueEvent != nil }
    if isOwn { noteOnce(.ownDelegate) }
    let next = lock.withLock { () -> (delegate: (any StreamDelegate)?, stream: Stream?, event: Stream.Event?) in
      let held = (delegateObject, stream)
      if held.0 == nil, listener == .app { listener = .gone }
      guard held.0 != nil, held.1 != nil, let event = dueEvent else { return (held.0, held.1, nil) }
      state.take(event)
      return (held.0, held.1, event)
    }
    guard let delegate = next.delegate, let stream = next.stream, let event = next.event else { return false }
    delegate.stream(stream, handle: event)
    return true
  }

  /// The next event, or nil if there is none or the app is suspended. Requires the lock.
  private var dueEvent: Stream.Event? { isAppRunning.withLock { $0 } ? state.dueEvent : nil }

  /// Checks the run loops later, once they have had enough time to start.
  // MARK: Loops that never run

  private func watchLoops() {
    DispatchQueue.global().asyncAfter(deadline: .now() + LoopWatch.patience) { [weak self] in self?.noteDeadLoop() }
  }

  /// The time at which events began to wait, because none of the stream's run loops was running. Nil if no events are
  /// waiting, or if the misuse has already been reported.
  var deadSince: Date? {
    lock.withLock {
      guard let since = watch.since else { return nil }
      let loops = schedules.map(\.loop) + pending.map(\.loop)
      return loops.contains { $0 === RunLoop.main || $0.currentMode != nil } ? nil : since
    }
  }

  func noteDeadLoop() {
    guard let since = deadSince, Date().timeIntervalSince(since) >= LoopWatch.patience, noteOnce(.deadLoop)
    else { return }
    // The watch ends only after the misuse has been recorded, because other threads wait for the watch to end before
    // they read the misuses.
    lock.withLock { watch.end() }
  }
}

extension RunLoop.Mode {
  /// The mode as CoreFoundation expects it. CoreFoundation recognizes the common modes by address, not by name.
  fileprivate var core: CFString? {
    self == .common ? kCFRunLoopCommonModes : CFStringCreateWithCString(nil, rawValue, 0x0800_0100)
  }
}
