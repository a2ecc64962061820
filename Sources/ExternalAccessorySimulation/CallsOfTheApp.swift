import CoreFoundation
import Dispatch
import ExternalAccessory
import Foundation
import Glibc

// Functions of the system that the app calls and that this module has a word about first. A function of a program is called
// instead of one of the same name in a shared library, also by that library's own clients, such as Foundation.

/// The system's own function: the next one of that name after this program's.
private func system<Function>(_ name: String, as type: Function.Type) -> Function {
  // RTLD_NEXT, a macro that Swift does not import.
  guard let found = dlsym(UnsafeMutableRawPointer(bitPattern: -1), name) else {
    preconditionFailure("no library of this program has \(name)")
  }
  return unsafeBitCast(found, to: type)
}

// MARK: Waiting for the main queue

private let systemSync = system("dispatch_sync", as: (@convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> Void).self)
private nonisolated(unsafe) let mainQueue = UnsafeRawPointer(dlsym(nil, "_dispatch_main_q"))

/// `DispatchQueue.sync`. On the main queue for the main queue it waits for itself, here and on Apple's systems: the process
/// ends in a trap without a word, so the word comes first.
@_cdecl("dispatch_sync")
func appCallsSync(_ queue: UnsafeRawPointer, _ block: UnsafeRawPointer) {
  if queue == mainQueue, MainDelivery.isOnMainQueue { EAAccessoryManager.shared().noteSyncOnMain() }
  systemSync(queue, block)
}

// MARK: Timers

/// CoreFoundation's functions, without the words of this module.
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

/// `RunLoop.add(_:forMode:)` and `Timer.scheduledTimer`.
@_cdecl("CFRunLoopAddTimer")
func appAddsTimer(_ loop: UnsafeRawPointer, _ timer: UnsafeRawPointer, _ mode: UnsafeRawPointer) {
  MainLoopTimers.active?.adopt(timer, in: loop)
  SystemTimers.add(loop, timer, mode)
}

/// The setter of `Timer.fireDate`.
@_cdecl("CFRunLoopTimerSetNextFireDate")
func appMovesTimer(_ timer: UnsafeRawPointer, _ date: CFAbsoluteTime) {
  if MainLoopTimers.active?.move(timer, to: date) != true { SystemTimers.setDate(timer, date) }
}

/// The getter of `Timer.fireDate`.
@_cdecl("CFRunLoopTimerGetNextFireDate")
func appAsksTimer(_ timer: UnsafeRawPointer) -> CFAbsoluteTime {
  MainLoopTimers.active?.date(timer) ?? SystemTimers.date(timer)
}

/// `Timer.invalidate()`.
@_cdecl("CFRunLoopTimerInvalidate")
func appInvalidatesTimer(_ timer: UnsafeRawPointer) {
  SystemTimers.invalidate(timer)
  MainLoopTimers.active?.forget(timer)
}
