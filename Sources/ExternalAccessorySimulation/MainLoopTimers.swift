// swift-format-ignore-file: AlwaysUseLowerCamelCase
import AccessoryCore
import CoreFoundation
import ExternalAccessory
import Foundation
import Glibc

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

/// Interception begins when the program is loaded, because the app may set a timer before it creates the first world.
@section(".init_array") @used
private let atLoad: @convention(c) () -> Void = {
  _ = (CallsOfTheApp.areHeard, AppAtRest.inherited)
}

/// The app's calls to Dispatch and CoreFoundation that this module intercepts; see CAppCalls.
enum CallsOfTheApp {
  /// Whether this module intercepts the calls. Calls cannot be intercepted in a program that is linked statically to
  /// the libraries (`-static-stdlib`).
  static let areHeard = cappcalls_begin(
    // A `dispatch_sync` from the main queue to itself deadlocks, as it does on Apple's systems. The process then traps
    // without a message, so a message is printed before the call.
    {
      if UInt(bitPattern: $0) == mainQueue, MainDelivery.isOnMainQueue { EAAccessoryManager.shared().noteSyncOnMain() }
    },
    { Alarms.shared.add($0) },
    { Alarms.shared.set($0, $1, interval: $2) },
    { Alarms.shared.cancel($0) },
    { loop, timer in
      if MainLoopTimers.active?.adopt(timer, in: loop) != true { Alarms.shared.set(core: timer, systemDate(timer)) }
    },
    { timer, date in
      if MainLoopTimers.active?.move(timer, to: date) == true { return true }
      Alarms.shared.set(core: timer, date)
      return false
    },
    { MainLoopTimers.active?.date($0) ?? .nan },
    { timer in
      Alarms.shared.cancel(timer)
      MainLoopTimers.active?.forget(timer)
    })

  private static let mainQueue = UInt(bitPattern: dlsym(nil, "_dispatch_main_q"))

  /// Sets a timer's next fire date in CoreFoundation. This call is not intercepted.
  static func setSystemDate(_ timer: UnsafeRawPointer, _ date: CFAbsoluteTime) { cappcalls_set_date(timer, date) }

  /// Returns the date at which CoreFoundation will fire a timer.
  static func systemDate(_ timer: UnsafeRawPointer) -> CFAbsoluteTime { cappcalls_date(timer) }
}

@_extern(c) private func cappcalls_begin(
  _ sync: @convention(c) (UnsafeRawPointer) -> Void, _ after: @convention(c) (UInt64) -> Void,
  _ setTimer: @convention(c) (UnsafeRawPointer, UInt64, UInt64) -> Void,
  _ cancel: @convention(c) (UnsafeRawPointer) -> Void,
  _ addTimer: @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> Void,
  _ moveTimer: @convention(c) (UnsafeRawPointer, Double) -> Bool,
  _ timerDate: @convention(c) (UnsafeRawPointer) -> Double, _ forgetTimer: @convention(c) (UnsafeRawPointer) -> Void
) -> Bool
@_extern(c) private func cappcalls_set_date(_ timer: UnsafeRawPointer, _ date: Double)
@_extern(c) private func cappcalls_date(_ timer: UnsafeRawPointer) -> Double
