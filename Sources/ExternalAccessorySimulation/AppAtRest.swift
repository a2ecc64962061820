import AccessoryCore
import CoreFoundation
import Dispatch
import Foundation
import Glibc
import LinuxIO

/// Uses operating system data to determine whether the app could still act on its own.
///
/// If a world has nothing scheduled, a wait continues only while the app could still act in real time. Without this
/// check, every unsuccessful wait would last until its timeout. If the app's state cannot be determined, the app counts
/// as waiting.
enum AppAtRest {
  enum Finding {
    /// No thread, task or timer in the process will become active before the limit.
    case atRest
    /// A thread is running, perhaps only briefly.
    case atWork
    /// The app is waiting for a deadline or for another process.
    case waiting
  }

  /// Examines the process's sockets, all threads except the caller's, and all alarms before `limit`. `limit` is a time
  /// in seconds of `systemUptime`.
  static func look(until limit: TimeInterval) -> Finding {
    if !CallsOfTheApp.areHeard || Alarms.shared.areSet(before: limit) { return .waiting }
    // Another process might answer through a socket that this process has created.
    if !sockets().isSubset(of: inherited) { return .waiting }
    guard let own = FilePath.target(ofLink: "/proc/thread-self")?.split(separator: "/").last.map(String.init),
      let threads = Folder.names(in: "/proc/self/task")
    else { return .waiting }
    var found = Finding.atRest
    for thread in threads where thread != own {
      // The thread's `syscall` file is missing if the thread has ended.
      guard let call = SmallFile.read("/proc/self/task/\(thread)/syscall") else { return .waiting }
      switch Self.look(at: String(decoding: call, as: UTF8.self)) {
      case .waiting: return .waiting
      case .atWork: found = .atWork
      case .atRest: break
      }
    }
    return found
  }

  /// The sockets that existed when the program was loaded.
  static let inherited = sockets()

  private static func sockets() -> Set<String> {
    let links = (Folder.names(in: "/proc/self/fd") ?? []).compactMap { FilePath.target(ofLink: "/proc/self/fd/\($0)") }
    return Set(links.filter { $0.hasPrefix("socket:") })
  }

  /// Interprets a thread's `syscall` file: "running", or the number and arguments of the current system call.
  static func look(at call: String) -> Finding {
    let words = call.split(whereSeparator: \.isWhitespace)
    guard let number = words.first.flatMap({ Int($0) }), number >= 0 else { return .atWork }
    let arguments = words.dropFirst().map { UInt($0.dropFirst(2), radix: 16) ?? 0 }
    if number == suspended { return .atRest }
    guard let end = endless[number], arguments.count > end.argument else { return .waiting }
    if end.isForever(arguments[end.argument]) || number == futex && isIdleWorker(arguments[0]) { return .atRest }
    return .waiting
  }

  /// A system call that can wait without a timeout, and the index of its timeout argument.
  private struct Endless: Sendable {
    let argument: Int
    var isNumber = false

    /// Returns true if this value of the timeout argument (a null pointer or -1) means that there is no timeout.
    func isForever(_ value: UInt) -> Bool {
      isNumber ? UInt32(truncatingIfNeeded: value) == .max : value == 0
    }
  }

  #if arch(x86_64)
    private static let futex = 202
    // The calls are futex, epoll_wait, epoll_pwait, epoll_pwait2, poll, ppoll and rt_sigtimedwait.
    private static let endless = [
      202: Endless(argument: 3), 232: Endless(argument: 3, isNumber: true), 281: Endless(argument: 3, isNumber: true),
      441: Endless(argument: 3), 7: Endless(argument: 2, isNumber: true), 271: Endless(argument: 2),
      128: Endless(argument: 2),
    ]
    /// The system call number of rt_sigsuspend, in which the main thread waits after `dispatchMain()`.
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

  /// An idle Dispatch worker thread exits after five seconds, so it waits with a timeout. Such a thread is recognized
  /// by the semaphore that it waits for, which is in the library's own memory, unlike the semaphores of an app.
  private static func isIdleWorker(_ address: UInt) -> Bool {
    dispatch != 0 && base(of: address) == dispatch
  }

  private static let dispatch = base(of: UInt(bitPattern: dlsym(nil, "dispatch_main")))

  /// Returns the base address of the library that contains `address`, or 0 if no library does.
  private static func base(of address: UInt) -> UInt {
    typealias Find = @convention(c) (UInt, UnsafeMutableRawPointer) -> Int32
    // glibc declares this function only if _GNU_SOURCE is defined.
    guard let find = dlsym(nil, "dladdr").map({ unsafeBitCast($0, to: Find.self) }) else { return 0 }
    var found: (file: UInt, base: UInt, symbol: UInt, address: UInt) = (0, 0, 0, 0)
    return find(address, &found) == 0 ? 0 : found.base
  }
}

/// The times, in seconds of `systemUptime`, at which the system will call the app because of `asyncAfter`,
/// `Task.sleep`, Dispatch timers, or timers on run loops that the world does not control.
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

  func areSet(before limit: TimeInterval) -> Bool {
    let now = ProcessInfo.processInfo.systemUptime
    return pending.withLock { pending in
      pending.once.removeAll { $0 < now }
      pending.sources = pending.sources.filter { $0.value.repeats || $0.value.time >= now }
      return pending.once.contains { $0 < limit } || pending.sources.values.contains { $0.time < limit }
    }
  }

  /// Adds an alarm for a call to `asyncAfter`. Most calls to `Task.sleep` result in a call to `asyncAfter`.
  func add(_ time: UInt64) {
    let now = ProcessInfo.processInfo.systemUptime
    let alarm = now + Self.remaining(time)
    pending.withLock { pending in
      if pending.once.count > 100 { pending.once.removeAll { $0 < now } }
      pending.once.append(alarm)
    }
  }

  /// Adds or replaces the alarm for a Dispatch timer.
  func set(_ source: UnsafeRawPointer, _ time: UInt64, interval: UInt64) {
    let alarm = Alarm(
      time: ProcessInfo.processInfo.systemUptime + Self.remaining(time), repeats: interval < UInt64(Int64.max))
    pending.withLock { $0.sources[source] = alarm }
  }

  /// Adds or replaces the alarm for a `Timer` on a thread's run loop.
  func set(core timer: UnsafeRawPointer, _ date: CFAbsoluteTime) {
    let interval = CFRunLoopTimerGetInterval(Unmanaged<CFRunLoopTimer>.fromOpaque(timer).takeUnretainedValue())
    let alarm = Alarm(
      time: ProcessInfo.processInfo.systemUptime + max(0, date - CFAbsoluteTimeGetCurrent()), repeats: interval > 0)
    pending.withLock { $0.sources[timer] = alarm }
  }

  func cancel(_ source: UnsafeRawPointer) { _ = pending.withLock { $0.sources.removeValue(forKey: source) } }

  /// Returns the number of seconds until a Dispatch time. The time's two highest bits select the clock.
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
