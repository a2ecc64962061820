import CoreFoundation
import Foundation

/// The events of one stream, and the run loops that it is scheduled on.
///
/// ```
///   notOpen ──open()──▶ open ──end, everything read──▶ atEnd ──close()──▶ closed
///                         └──────────error───────────▶ error ──close()──▶ closed
/// ```
///
/// What a delegate is told, as Apple's streams tell it: `openCompleted` once; `hasBytesAvailable` once for what arrived,
/// and again after each read that leaves something; `hasSpaceAvailable` once, and again only after a write;
/// `endEncountered` once, for an input stream after everything was read; `errorOccurred` once. Nothing after `close()`.
///
/// An event is due from the moment its cause is there until a delegate was told, whichever of delegate, schedule and
/// open comes last. Told is one event for each performing of the source, so that a busy stream shares its run loop.
final class StreamPort: @unchecked Sendable {
  /// Which way.
  enum Kind { case input, output }

  /// A run loop and a mode.
  private struct Schedule {
    var loop: RunLoop
    var core: CFRunLoop
    var mode: RunLoop.Mode
  }

  private let kind: Kind
  private let lock = NSLock()
  private let signals: SignalCount
  private let main: MainDelivery
  private let gate: AppGate
  private weak var stream: Stream?
  private weak var delegateObject: (any StreamDelegate)?
  /// Whether there is a delegate, as far as is known. To look at the weak reference is to hold what it leads to, perhaps
  /// as the last one, and then it goes when the look is over: never under the lock, since what goes may come back here.
  private var hasDelegate = false
  private var schedules: [Schedule] = []
  /// Schedules that wait for the thread of their run loop.
  private var awaited: [(loop: RunLoop, mode: RunLoop.Mode)] = []
  private var source: CFRunLoopSource?
  private var isSignalled = false
  /// One is enough, and a busy main run loop takes them from its queue more slowly than its sources are signalled.
  private var isNudging = false

  private var state = Stream.Status.notOpen
  private var failure: (any Error)?
  private var failureIsDue = false
  private var openIsDue = false
  /// Bytes for an input stream, room for an output stream.
  private var isReady = false
  private var readyIsTold = false
  private var isEnded = false
  private var endIsTold = false

  init(_ kind: Kind, in realm: AccessoryRealm) {
    self.kind = kind
    signals = realm.signals
    main = realm.main
    gate = realm.gate
  }

  /// The stream that delegates are told about; not held.
  func belong(to stream: Stream) { lock.withLock { self.stream = stream } }

  var status: Stream.Status { lock.withLock { state == .open && isAtEnd ? .atEnd : state } }
  var error: (any Error)? { lock.withLock { failure } }

  var delegate: (any StreamDelegate)? {
    get { lock.withLock { delegateObject } }
    set {
      lock.withLock {
        delegateObject = newValue
        hasDelegate = newValue != nil
      }
      kick()
    }
  }

  // MARK: What happens to it

  /// Whether this was the first time.
  func open() -> Bool {
    let isFirst = lock.withLock { () -> Bool in
      guard state == .notOpen else { return false }
      state = .open
      openIsDue = true
      return true
    }
    if isFirst { kick() }
    return isFirst
  }

  /// Whether this was the first time.
  func close() -> Bool {
    let (isFirst, left) = lock.withLock { () -> (Bool, [Schedule]) in
      guard state != .closed else { return (false, []) }
      state = .closed
      awaited = []
      defer { schedules = [] }
      return (true, schedules)
    }
    for schedule in left { remove(schedule) }
    return isFirst
  }

  /// There are bytes to read, or room to write, or there is none any more. `isAnew` takes the told back: something was
  /// read or written since.
  func set(isReady ready: Bool, isAnew: Bool) {
    lock.withLock {
      isReady = ready
      if isAnew { readyIsTold = false }
    }
    kick()
  }

  /// Nothing more comes.
  func end() {
    lock.withLock { isEnded = true }
    kick()
  }

  /// It broke. Told where `tells`; otherwise the status alone says so, and what is due is told all the same.
  func fail(_ error: any Error, tells: Bool) {
    lock.withLock {
      guard state != .closed else { return }
      if failure == nil { failure = error }
      if state != .notOpen { state = .error }
      if tells { failureIsDue = true }
    }
    kick()
  }

  // MARK: Scheduling

  func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) {
    if let core = Self.core(of: loop) { return add(Schedule(loop: loop, core: core, mode: mode)) }
    // Another thread's loop: its core can be had on that thread alone.
    lock.withLock { awaited.append((loop, mode)) }
    let hop = Hop(port: self, loop: loop, mode: mode)
    let timer = Timer(timeInterval: 0, repeats: false) { _ in hop.port.arrive(hop.loop, hop.mode) }
    loop.add(timer, forMode: mode)
  }

  /// On the thread of the run loop; too late, perhaps, for a schedule that was taken back.
  private func arrive(_ loop: RunLoop, _ mode: RunLoop.Mode) {
    if stopAwaiting(loop, mode) { schedule(in: loop, forMode: mode) }
  }

  /// Whether it was awaited.
  private func stopAwaiting(_ loop: RunLoop, _ mode: RunLoop.Mode) -> Bool {
    lock.withLock {
      let count = awaited.count
      awaited.removeAll { $0.loop === loop && $0.mode == mode }
      return awaited.count < count
    }
  }

  func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) {
    _ = stopAwaiting(loop, mode)
    let found = lock.withLock { () -> Schedule? in
      guard let index = schedules.firstIndex(where: { $0.loop === loop && $0.mode == mode }) else { return nil }
      return schedules.remove(at: index)
    }
    if let found { remove(found) }
  }

  /// The stream is gone.
  func invalidate() {
    let last = lock.withLock { () -> CFRunLoopSource? in
      defer { source = nil }
      state = .closed
      (schedules, awaited) = ([], [])
      if isSignalled { unsignal() }
      return source
    }
    if let last { CFRunLoopSourceInvalidate(last) }
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
      guard state != .closed else { return nil }
      let isKnown = schedules.contains { $0.loop === schedule.loop && $0.mode == schedule.mode }
      if !isKnown { schedules.append(schedule) }
      return madeSource()
    }
    guard let source else { return }
    CFRunLoopAddSource(schedule.core, source, schedule.mode.core)
    kick()
  }

  private func remove(_ schedule: Schedule) {
    guard let source = lock.withLock({ source }) else { return }
    CFRunLoopRemoveSource(schedule.core, source, schedule.mode.core)
    lock.withLock { if schedules.isEmpty, isSignalled { unsignal() } }
  }

  /// Under the lock. The source holds the port while a run loop holds the source.
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

  // MARK: Telling

  /// Wakes the run loops, if there is something to tell and somebody to tell it to.
  func kick() {
    let woken = lock.withLock { () -> (source: CFRunLoopSource, schedules: [Schedule], nudges: Bool)? in
      guard !isSignalled, !schedules.isEmpty, hasDelegate, dueEvent != nil, let source else { return nil }
      isSignalled = true
      signals.add(1)
      let nudges = !isNudging && schedules.contains { $0.loop === RunLoop.main }
      if nudges { isNudging = true }
      return (source, schedules, nudges)
    }
    guard let woken else { return }
    CFRunLoopSourceSignal(woken.source)
    for schedule in woken.schedules { CFRunLoopWakeUp(schedule.core) }
    guard woken.nudges else { return }
    // A main run loop that runs performs its source, and in the right mode.
    main.nudge(
      begin: { [weak self] in self?.endNudge() }, unlessRunning: { [weak self] in self?.perform() })
  }

  private func endNudge() { lock.withLock { isNudging = false } }

  /// Under the lock.
  private func unsignal() {
    isSignalled = false
    signals.add(-1)
  }

  private func perform() {
    let isAsked = lock.withLock { () -> Bool in
      guard isSignalled else { return false }
      isSignalled = false
      return true
    }
    guard isAsked else { return }
    // It is taken out of the count only when it was told, for who waits for that.
    tellOne()
    kick()
    signals.add(-1)
  }

  /// Tells everything that is due, on the main thread, if that is where it would be told: before a notification that
  /// has to come after it.
  func tellAllOnMain() {
    let isOnMain = lock.withLock {
      schedules.contains { schedule in
        guard schedule.loop === RunLoop.main else { return false }
        guard let running = RunLoop.main.currentMode else { return true }
        return schedule.mode == running || schedule.mode == .common
      }
    }
    guard isOnMain else { return }
    while tellOne() {}
  }

  @discardableResult
  private func tellOne() -> Bool {
    // Both are let go outside the lock: it may be the last that anybody has of them, and what they do then takes the lock.
    let told = lock.withLock { () -> (delegate: (any StreamDelegate)?, stream: Stream?, event: Stream.Event?) in
      let held = (delegateObject, stream)
      if held.0 == nil { hasDelegate = false }
      guard held.0 != nil, held.1 != nil, let event = dueEvent else { return (held.0, held.1, nil) }
      take(event)
      return (held.0, held.1, event)
    }
    guard let delegate = told.delegate, let stream = told.stream, let event = told.event else { return false }
    delegate.stream(stream, handle: event)
    return true
  }

  /// Nothing more comes, and nothing is left to read; so even where there is no delegate to be told. Under the lock.
  private var isAtEnd: Bool { isEnded && !(kind == .input && isReady) }

  /// The event that is told next. Under the lock.
  private var dueEvent: Stream.Event? {
    if state == .notOpen || state == .closed || !gate.isOpen { return nil }
    if openIsDue { return failureIsDue ? .errorOccurred : .openCompleted }
    if kind == .input, isReady, !readyIsTold { return .hasBytesAvailable }
    if failureIsDue { return .errorOccurred }
    if isAtEnd { return endIsTold ? nil : .endEncountered }
    return kind == .output && isReady && !readyIsTold && failure == nil ? .hasSpaceAvailable : nil
  }

  /// Under the lock.
  private func take(_ event: Stream.Event) {
    switch event {
    case .openCompleted: openIsDue = false
    case .hasBytesAvailable, .hasSpaceAvailable: readyIsTold = true
    case .endEncountered:
      endIsTold = true
      if failure == nil { state = .atEnd }
    default:
      openIsDue = false
      failureIsDue = false
      state = .error
    }
  }
}

extension RunLoop.Mode {
  /// The mode as the run loop's core knows it. The common modes are known by their address, not by their name.
  fileprivate var core: CFString? {
    self == .common ? kCFRunLoopCommonModes : CFStringCreateWithCString(nil, rawValue, 0x0800_0100)
  }
}
