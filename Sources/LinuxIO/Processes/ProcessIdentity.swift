import AccessoryCore
import Glibc

/// A process, identified by its number and start time, because the system uses numbers again.
public struct ProcessIdentity: Hashable, Sendable {
  /// The process id.
  public let pid: Int32
  /// When it was started, in the kernel's ticks since boot.
  public let startTime: UInt64

  /// An identity that was written down somewhere.
  public init(pid: Int32, startTime: UInt64) {
    self.pid = pid
    self.startTime = startTime
  }

  /// The process that has this number now; nil when there is none that can be seen from here.
  public init?(running pid: Int32) {
    guard let start = Self.startTime(of: pid) else { return nil }
    self.init(pid: pid, startTime: start)
  }

  /// This process. Where the system's tables are hidden, its start time is 0.
  public static var current: ProcessIdentity {
    let pid = getpid()
    return ProcessIdentity(running: pid) ?? ProcessIdentity(pid: pid, startTime: 0)
  }

  /// Whether this very process runs, and not another with its number.
  public var isRunning: Bool { ProcessIdentity(running: pid) == self }

  /// `/proc/PID/stat` holds the name in parentheses, which may itself hold spaces and parentheses, and the start time
  /// as the twentieth word after it.
  private static func startTime(of pid: Int32) -> UInt64? {
    guard let line = SmallFile.read("/proc/\(pid)/stat"), let end = line.lastIndex(of: UInt8(ascii: ")")) else {
      return nil
    }
    let words = line[line.index(after: end)...].split(separator: UInt8(ascii: " "))
    // A zombie has ended; only its parent has not asked yet.
    guard words.count > 19, words[0].first != UInt8(ascii: "Z") else { return nil }
    return UInt64(String(decoding: words[19], as: UTF8.self))
  }
}

/// Files that are read in one go: cards, locks, the system's tables.
package enum SmallFile {
  /// The most that is read of one.
  package static let limit = 64 * 1024

  /// The file's bytes; nil, with errno, when it cannot be opened or is longer than ``limit``.
  package static func read(_ path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    while bytes.count <= limit {
      let chunk = [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
        count = max(0, Glibc.read(file, buffer.baseAddress, buffer.count))
      }
      if chunk.isEmpty { return bytes }
      bytes += chunk
    }
    errno = EFBIG
    return nil
  }
}

/// Reports the end of a process, for any reason, without polling.
public final class ProcessWatch: DescriptorHandler {
  private let ended: () -> Void
  private var descriptor: Int32
  private var watch: (any DescriptorWatch)?

  /// Watches a process; nil when it has ended already, or when the system cannot report the end.
  public init?(_ process: ProcessIdentity, on loop: any PollingLoop, ended: @escaping () -> Void) {
    descriptor = clinux_open_process(process.pid)
    self.ended = ended
    guard descriptor >= 0 else { return nil }
    // Checked after the descriptor is open, because from then on the number cannot be used for another process.
    guard process.isRunning, let watch = try? loop.watch(descriptor, for: .readable, self) else { return nil }
    self.watch = watch
  }

  deinit {
    if descriptor >= 0 { Glibc.close(descriptor) }
  }

  /// Stops reporting.
  public func cancel() {
    watch?.cancel()
    watch = nil
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  /// Called by the loop.
  public func descriptorReady(_ readiness: Readiness) {
    cancel()
    ended()
  }
}
