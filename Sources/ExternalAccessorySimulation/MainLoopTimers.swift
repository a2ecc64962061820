import AccessoryCore
import CoreFoundation
import ExternalAccessory
import Foundation

/// The app's timers on the main run loop, which fire in the world's time.
///
/// Foundation adds a `Timer` to its run loop by calling a few CoreFoundation functions, which ``CallsOfTheApp``
/// intercepts. A timer is adopted if it is added to the main run loop while a world in virtual time exists: its date in
/// the run loop is moved far into the future, and one of the world's timers fires it on the main thread instead.
/// Adopted timers also work under Swift Testing, where the main run loop does not run and its timers would otherwise
/// never fire. When the world ends, the remaining timers fire in real time again.
final class MainLoopTimers: @unchecked Sendable {
  private struct Adopted {
    let timer: Timer
    let own: LoopTimer
    var deadline: Instant
  }

  /// The object that manages the current world's timers. The reference is weak, so that a world that is no longer used
  /// can be released.
  private static let current = Locked<Weak<MainLoopTimers>?>(nil)
  private static let farAway = 4e9

  private let entrance: VirtualEntrance
  private let main: MainDelivery
  /// The adopted timers, by the address of their CFRunLoopTimer. Use this property only on the event loop.
  private var adopted: [UnsafeRawPointer: Adopted] = [:]

  init(_ entrance: VirtualEntrance, main: MainDelivery) {
    (self.entrance, self.main) = (entrance, main)
    Self.current.withLock { $0 = Weak(self) }
  }

  static var active: MainLoopTimers? { current.withLock { $0?.object } }

  /// Returns the timers to the run loop, which fires them in real time.
  func end() {
    Self.current.withLock { if $0?.object === self { $0 = nil } }
    let left = entrance.sync {
      defer { adopted = [:] }
      for one in adopted.values { one.own.cancel() }
      return adopted.mapValues { (timer: $0.timer, remaining: ($0.deadline - entrance.now).inSeconds) }
    }
    for (core, one) in left where one.timer.isValid {
      CallsOfTheApp.setSystemDate(core, CFAbsoluteTimeGetCurrent() + max(0, one.remaining))
    }
  }

  /// Called when the app adds a timer to a run loop. Adopts the timer if it is added to the main run loop, or if code
  /// on the main queue adds it to the run loop of the current thread. Returns true if the timer was adopted.
  func adopt(_ core: UnsafeRawPointer, in loop: UnsafeRawPointer) -> Bool {
    guard Self.isMain(loop), let timer = Self.timer(of: core) else { return false }
    let date = CallsOfTheApp.systemDate(core)
    let isNew = entrance.sync { () -> Bool in
      guard adopted[core] == nil else { return false }
      let own = entrance.loop.makeTimer { [weak self] in self?.fire(core) }
      adopted[core] = Adopted(timer: timer, own: own, deadline: .origin)
      arm(core, for: date)
      return true
    }
    if isNew { CallsOfTheApp.setSystemDate(core, CFAbsoluteTimeGetCurrent() + Self.farAway) }
    return true
  }

  /// Moves a timer to another date. Returns false if the timer was not adopted.
  func move(_ core: UnsafeRawPointer, to date: CFAbsoluteTime) -> Bool {
    entrance.sync {
      guard adopted[core] != nil else { return false }
      arm(core, for: date)
      return true
    }
  }

  /// Returns the date at which a timer will fire, or nil if the timer was not adopted.
  func date(_ core: UnsafeRawPointer) -> CFAbsoluteTime? {
    entrance.sync { adopted[core].map { CFAbsoluteTimeGetCurrent() + ($0.deadline - entrance.now).inSeconds } }
  }

  func forget(_ core: UnsafeRawPointer) {
    // The timer is released outside the lock, because it may hold the last reference to an object that the app's block
    // captured.
    let last = entrance.sync { () -> Timer? in
      let one = adopted.removeValue(forKey: core)
      one?.own.cancel()
      return one?.timer
    }
    withExtendedLifetime(last) {}
  }

  /// Call this function only on the event loop.
  private func arm(_ core: UnsafeRawPointer, for date: CFAbsoluteTime) {
    let remaining = min(max(0, date - CFAbsoluteTimeGetCurrent()), Self.farAway)
    // The deadline is rounded to whole milliseconds, because some real time has passed since the app called `Date()`.
    let deadline = entrance.now + .milliseconds(Int((remaining * 1000).rounded()))
    adopted[core]?.deadline = deadline
    adopted[core]?.own.arm(at: deadline)
  }

  /// Call this function only on the event loop.
  private func fire(_ core: UnsafeRawPointer) {
    guard let one = adopted[core] else { return }
    if one.timer.timeInterval > 0 {
      let next = one.deadline + .seconds(one.timer.timeInterval)
      adopted[core]?.deadline = next
      one.own.arm(at: next)
    }
    main.add { [timer = one.timer] in if timer.isValid { timer.fire() } }
  }

  private static func isMain(_ loop: UnsafeRawPointer) -> Bool {
    let isSame = { (other: CFRunLoop?) in
      other.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) } == loop
    }
    return isSame(CFRunLoopGetMain()) || MainDelivery.isOnMainQueue && isSame(CFRunLoopGetCurrent())
  }

  /// Returns the Foundation timer that a CoreFoundation timer's context holds.
  private static func timer(of core: UnsafeRawPointer) -> Timer? {
    var context = CFRunLoopTimerContext()
    CFRunLoopTimerGetContext(Unmanaged<CFRunLoopTimer>.fromOpaque(core).takeUnretainedValue(), &context)
    guard let info = context.info, Int(bitPattern: info) % MemoryLayout<Int>.alignment == 0,
      info.load(as: UnsafeRawPointer?.self) == unsafeBitCast(Timer.self as AnyClass, to: UnsafeRawPointer?.self)
    else { return nil }
    return Unmanaged<Timer>.fromOpaque(info).takeUnretainedValue()
  }
}
