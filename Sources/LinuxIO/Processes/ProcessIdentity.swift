import AccessoryCore
import Glibc

/// A process, identified by its ID and start time, because the system reuses IDs.
public struct ProcessIdentity: Hashable, Sendable {
  /// The process ID.
  public var pid: Int32
  /// The start time of the process, in kernel ticks since boot.
  public var startTime: UInt64

  /// Recreates an identity from stored values.
  public init(pid: Int32, startTime: UInt64) {
    self.pid = pid
    self.startTime = startTime
  }

  /// Creates the identity of the process that now has this ID, or returns nil if no such process is visible.
  public init?(running pid: Int32) {
    guard let start = Self.startTime(of: pid) else { return nil }
    self.init(pid: pid, startTime: start)
  }

  /// This process's identity. The start time is 0 if the system's tables are hidden.
  public static var current: ProcessIdentity {
    let pid = getpid()
    return ProcessIdentity(running: pid) ?? ProcessIdentity(pid: pid, startTime: 0)
  }

  /// Whether this process is still running. A later process with the same ID does not count.
  public var isRunning: Bool { ProcessIdentity(running: pid) == self }

  /// In `/proc/PID/stat`, the start time is the twentieth word after the process name, which is in parentheses and may
  /// itself contain spaces and parentheses.
  private static func startTime(of pid: Int32) -> UInt64? {
    guard let line = SmallFile.read("/proc/\(pid)/stat"), let end = line.lastIndex(of: UInt8(ascii: ")")) else {
      return nil
    }
    let words = line[line.index(after: end)...].split(separator: UInt8(ascii: " "))
    // A zombie has ended, even though its parent has not reaped it yet.
    guard words.count > 19, words[0].first != UInt8(ascii: "Z") else { return nil }
    return UInt64(String(decoding: words[19], as: UTF8.self))
  }
}

/// Reports, without polling, when a process ends for any reason.
public final class ProcessWatch {
  private let source: WatchedDescriptor

  /// Starts watching a process, or returns nil if the process has already ended or the system cannot report its end.
  public init?(_ process: ProcessIdentity, on loop: any PollingLoop, ended: @escaping () -> Void) {
    let descriptor = clinux_open_process(process.pid)
    guard descriptor >= 0 else { return nil }
    source = WatchedDescriptor(taking: descriptor)
    // The identity is checked after the process descriptor is open, because from then on the ID cannot be reused.
    guard process.isRunning else { return nil }
    do {
      try source.watch(for: .readable, on: loop) { [source] _ in
        source.close()
        ended()
      }
    } catch {
      return nil
    }
  }

  /// Stops watching the process.
  public func cancel() { source.close() }
}

/// Finds the process that has a file or socket open. The result is used only in messages.
///
/// The result is nil if the process is not visible, for example because it belongs to another user or runs in another
/// container.
enum ProcessTable {
  static func listener(onPort port: UInt16) -> Int32? {
    let suffix = ":\(Hex.number(port))"
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
      // The columns are sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …; state 0A means
      // listening.
      for line in (contents(of: table) ?? "").split(separator: "\n") {
        let row = line.split(separator: " ", maxSplits: 10)
        guard row.count == 11, row[1].hasSuffix(suffix), row[3] == "0A" else { continue }
        if let pid = holder(of: "socket:[\(row[9])]") { return pid }
      }
    }
    return nil
  }

  static func holder(ofFile path: String) -> Int32? { holder(of: FilePath.real(path) ?? path) }

  static func maker(ofTerminal number: Int) -> Int32? {
    let wanted = "tty-index:\t\(number)"
    return processes().first { pid in
      (Folder.names(in: "/proc/\(pid)/fd") ?? []).contains { name in
        guard FilePath.target(ofLink: "/proc/\(pid)/fd/\(name)")?.hasSuffix("/ptmx") ?? false else { return false }
        return contents(of: "/proc/\(pid)/fdinfo/\(name)")?.split(separator: "\n").contains { $0 == wanted } ?? false
      }
    }
  }

  private static func holder(of target: String) -> Int32? {
    processes().first { pid in
      (Folder.names(in: "/proc/\(pid)/fd") ?? []).contains {
        FilePath.target(ofLink: "/proc/\(pid)/fd/\($0)") == target
      }
    }
  }

  private static func processes() -> [Int32] { (Folder.names(in: "/proc") ?? []).compactMap { Int32($0) } }

  private static func contents(of path: String) -> String? {
    SmallFile.read(path, limit: .max).map { String(decoding: $0, as: UTF8.self) }
  }
}
