import CoreFoundation
import Dispatch
import ExternalAccessory
import Foundation
import Glibc

// System functions that the app calls and that this module intercepts. The dynamic linker prefers a function of the
// program to one of the same name in a shared library, even for other shared libraries such as Foundation.

/// The system's own function: the next one of that name after this program's.
private func system<Function>(_ name: String, as type: Function.Type) -> Function {
  // RTLD_NEXT is a macro that Swift does not import.
  guard let found = dlsym(UnsafeMutableRawPointer(bitPattern: -1), name) else {
    preconditionFailure("no library of this program has \(name)")
  }
  return unsafeBitCast(found, to: type)
}

// MARK: Waiting for the main queue

private let systemSync = system("dispatch_sync", as: (@convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> Void).self)
private nonisolated(unsafe) let mainQueue = UnsafeRawPointer(dlsym(nil, "_dispatch_main_q"))

/// `DispatchQueue.sync`. Called on the main queue for the main queue, it waits for itself, here and on Apple's systems,
/// and the process traps without a message. So the message is printed first.
@_cdecl("dispatch_sync")
func appCallsSync(_ queue: UnsafeRawPointer, _ block: UnsafeRawPointer) {
  if queue == mainQueue, MainDelivery.isOnMainQueue { EAAccessoryManager.shared().noteSyncOnMain() }
  systemSync(queue, block)
}

// MARK: Timers

/// CoreFoundation's own functions, without this module's additions.
enum SystemTimers {
  private typealias SetDate = @convention(c) (UnsafeRawPointer, CFAbsoluteTime) -> Void
  private typealias GetDate = @convention(c) (UnsafeRawPointer) -> CFAbsoluteTime
  fileprivate typealias Add = @convention(c) (UnsafeRawPointer, UnsafeRawPointer, UnsafeRawPointer) -> Void
  fileprivate typealias Invalidate = @convention(c) (UnsafeRawPointer) -> Void
  private static let set = system("CFRunLoopTimerSetNextFireDate", as: SetDate.self)
  private static let get = system("CFRunLoopTimerGetNextFireDate", as: GetDate.self)
  fileprivate static let add = system("CFRunLoopAddTimer", as: Add.self)
  fileprivate static let invalidate = system("CFRunLoopTimerInvalidate", as: Invalidate.self)

  static func setDate(_ timer: UnsafeRawPointer, _ date: CFAbsoluteTime) { set(timer, date) }
  static func date(_ timer: UnsafeRawPointer) -> CFAbsoluteTime { get(timer) }
}

/// Called by `RunLoop.add(_:forMode:)` and `Timer.scheduledTimer`.
@_cdecl("CFRunLoopAddTimer")
func appAddsTimer(_ loop: UnsafeRawPointer, _ timer: UnsafeRawPointer, _ mode: UnsafeRawPointer) {
  MainLoopTimers.active?.adopt(timer, in: loop)
  SystemTimers.add(loop, timer, mode)
}

/// Called by the setter of `Timer.fireDate`.
@_cdecl("CFRunLoopTimerSetNextFireDate")
func appMovesTimer(_ timer: UnsafeRawPointer, _ date: CFAbsoluteTime) {
  if MainLoopTimers.active?.move(timer, to: date) != true { SystemTimers.setDate(timer, date) }
}

/// Called by the getter of `Timer.fireDate`.
@_cdecl("CFRunLoopTimerGetNextFireDate")
func appAsksTimer(_ timer: UnsafeRawPointer) -> CFAbsoluteTime {
  MainLoopTimers.active?.date(timer) ?? SystemTimers.date(timer)
}

/// Called by `Timer.invalidate()`.
@_cdecl("CFRunLoopTimerInvalidate")
func appInvalidatesTimer(_ timer: UnsafeRawPointer) {
  SystemTimers.invalidate(timer)
  MainLoopTimers.active?.forget(timer)
}
