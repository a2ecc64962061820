import AccessoryCore
import CoreFoundation
import Dispatch
import Foundation
import Glibc
import LinuxIO

/// Whether the app still does something, as far as the system can tell.
///
/// A wait whose world has nothing scheduled goes on while the app may act in real time. Without this it would have to take
/// its whole patience each time that the answer is no. Where something is not known, the app counts as waiting.
enum AppAtRest {
  /// What a look finds.
  enum Finding {
    /// No thread, task or timer of the process does anything by itself before the limit.
    case atRest
    /// A thread is at work, perhaps for a moment only.
    case atWork
    /// Something waits for a time, or for another process.
    case waiting
  }

  /// Looks at all threads but the caller's, at the process's sockets, and at its alarms until a time of `systemUptime`.
  static func look(until limit: TimeInterval) -> Finding {
    if !CallsOfTheApp.areHeard || Alarms.shared.areSet(before: limit) || hasSockets { return .waiting }
    guard let own = FilePath.target(ofLink: "/proc/thread-self")?.split(separator: "/").last.map(String.init),
      let threads = Folder.names(in: "/proc/self/task")
    else { return .waiting }
    var found = Finding.atRest
    for thread in threads where thread != own {
      // A thread that has ended has no file.
      guard let call = SmallFile.read("/proc/self/task/\(thread)/syscall") else { return .waiting }
      switch Self.look(at: String(decoding: call, as: UTF8.self)) {
      case .waiting: return .waiting
      case .atWork: found = .atWork
      case .atRest: break
      }
    }
    return found
  }

  /// Another process may answer on a socket that this one has made.
  private static var hasSockets: Bool { !sockets().isSubset(of: inherited) }

  /// The sockets that this process was started with. First asked for when the program is loaded.
  static let inherited = sockets()

  private static func sockets() -> Set<String> {
    let links = (Folder.names(in: "/proc/self/fd") ?? []).compactMap { FilePath.target(ofLink: "/proc/self/fd/\($0)") }
    return Set(links.filter { $0.hasPrefix("socket:") })
  }

  /// What a thread does: "running", or the number of the system call that it is in and the call's arguments.
  static func look(at call: String) -> Finding {
    let words = call.split(whereSeparator: \.isWhitespace)
    guard let number = words.first.flatMap({ Int($0) }), number >= 0 else { return .atWork }
    let arguments = words.dropFirst().map { UInt($0.dropFirst(2), radix: 16) ?? 0 }
    if number == suspended { return .atRest }
    guard let end = endless[number], arguments.count > end.argument else { return .waiting }
    if end.isForever(arguments[end.argument]) || number == futex && isIdleWorker(arguments[0]) { return .atRest }
    return .waiting
  }

  /// System calls that may wait without a limit: which argument has the limit, and what it is then.
  private struct Endless: Sendable {
    let argument: Int
    var isNumber = false

    /// A pointer to no time, or -1.
    func isForever(_ value: UInt) -> Bool {
      isNumber ? UInt32(truncatingIfNeeded: value) == .max : value == 0
    }
  }

  #if arch(x86_64)
    private static let futex = 202
    // futex, epoll_wait, epoll_pwait, epoll_pwait2, poll, ppoll, rt_sigtimedwait.
    private static let endless = [
      202: Endless(argument: 3), 232: Endless(argument: 3, isNumber: true), 281: Endless(argument: 3, isNumber: true),
      441: Endless(argument: 3), 7: Endless(argument: 2, isNumber: true), 271: Endless(argument: 2),
      128: Endless(argument: 2),
    ]
    /// rt_sigsuspend, in which the main thread is after `dispatchMain()`.
    private static let suspended = 130
  #elseif arch(arm64)
    private static let futex = 98
    private static let endless = [
      98: Endless(argument: 3), 22: Endless(argument: 3, isNumber: true), 441: Endless(argument: 3),
      73: Endless(argument: 2), 137: Endless(argument: 2),
    ]
    private static let suspended = 133
  #else
    private static let futex = -1
    private static let endless: [Int: Endless] = [:]
    private static let suspended = -1
  #endif

  /// A thread of Dispatch that waits for work ends after five seconds, so it waits with a limit; on a semaphore that is in
  /// the library itself, where no app has one.
  private static func isIdleWorker(_ address: UInt) -> Bool {
    dispatch != 0 && base(of: address) == dispatch
  }

  private static let dispatch = base(of: UInt(bitPattern: dlsym(nil, "dispatch_main")))

  /// Where the library of an address begins; 0 if it is in none.
  private static func base(of address: UInt) -> UInt {
    typealias Find = @convention(c) (UInt, UnsafeMutableRawPointer) -> Int32
    // Declared by the C library only with _GNU_SOURCE.
    guard let find = dlsym(nil, "dladdr").map({ unsafeBitCast($0, to: Find.self) }) else { return 0 }
    var found: (file: UInt, base: UInt, symbol: UInt, address: UInt) = (0, 0, 0, 0)
    return find(address, &found) == 0 ? 0 : found.base
  }
}

/// The times at which the system calls the app: `asyncAfter`, `Task.sleep`, dispatch timers, timers of run loops that are not
/// the world's. In seconds of `systemUptime`.
final class Alarms: Sendable {
  static let shared = Alarms()

  private struct Alarm {
    var time: TimeInterval
    var repeats = false
  }
  private struct Pending {
    var once: [TimeInterval] = []
    var sources: [UnsafeRawPointer: Alarm] = [:]
  }
  private let pending = Locked(Pending())

  /// Whether one goes off between now and then.
  func areSet(before limit: TimeInterval) -> Bool {
    let now = ProcessInfo.processInfo.systemUptime
    return pending.withLock { pending in
      pending.once.removeAll { $0 < now }
      pending.sources = pending.sources.filter { $0.value.repeats || $0.value.time >= now }
      return pending.once.contains { $0 < limit } || pending.sources.values.contains { $0.time < limit }
    }
  }

  /// `asyncAfter`, and most of `Task.sleep`.
  func add(_ time: UInt64) {
    let now = ProcessInfo.processInfo.systemUptime
    let alarm = now + Self.remaining(time)
    pending.withLock { pending in
      if pending.once.count > 100 { pending.once.removeAll { $0 < now } }
      pending.once.append(alarm)
    }
  }

  /// A dispatch timer is set, or set anew.
  func set(_ source: UnsafeRawPointer, _ time: UInt64, interval: UInt64) {
    let alarm = Alarm(
      time: ProcessInfo.processInfo.systemUptime + Self.remaining(time), repeats: interval < UInt64(Int64.max))
    pending.withLock { $0.sources[source] = alarm }
  }

  /// A `Timer` of a thread's run loop fires at a date.
  func set(core timer: UnsafeRawPointer, _ date: CFAbsoluteTime) {
    let interval = CFRunLoopTimerGetInterval(Unmanaged<CFRunLoopTimer>.fromOpaque(timer).takeUnretainedValue())
    let alarm = Alarm(
      time: ProcessInfo.processInfo.systemUptime + max(0, date - CFAbsoluteTimeGetCurrent()), repeats: interval > 0)
    pending.withLock { $0.sources[timer] = alarm }
  }

  /// A timer is cancelled.
  func cancel(_ source: UnsafeRawPointer) { _ = pending.withLock { $0.sources.removeValue(forKey: source) } }

  /// Seconds until a time of Dispatch, of which the two highest bits name the clock.
  private static func remaining(_ time: UInt64) -> TimeInterval {
    if time == .max { return .infinity }
    switch time >> 62 {
    case 0b11: return seconds(0 &- time, by: CLOCK_REALTIME)
    case 0b10: return seconds(time & ~(1 << 63), by: CLOCK_BOOTTIME)
    default: return time == 0 ? 0 : seconds(time, by: CLOCK_MONOTONIC)
    }
  }

  private static func seconds(_ time: UInt64, by clock: Int32) -> TimeInterval {
    var now = timespec()
    clock_gettime(clock, &now)
    return max(0, Double(time) / 1e9 - Double(now.tv_sec) - Double(now.tv_nsec) / 1e9)
  }
}
