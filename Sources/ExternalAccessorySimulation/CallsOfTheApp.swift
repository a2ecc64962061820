// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CoreFoundation
import ExternalAccessory
import Foundation
import Glibc

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
