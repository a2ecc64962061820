import Glibc

/// The operating system's figures about a process.
struct ProcessFacts {
  /// Resident memory in bytes.
  let residentBytes: Int
  /// The number of voluntary context switches.
  let wakeUps: Int

  /// Reads a process's figures from /proc.
  init(of process: pid_t = getpid()) throws(MeasuringError) {
    let pages = Self.words("/proc/\(process)/statm").dropFirst().first.flatMap { Int($0) }
    let status = Self.words("/proc/\(process)/status")
    let wakeUps = status.firstIndex(of: "voluntary_ctxt_switches:").flatMap { Int(status[$0 + 1]) }
    guard let pages, let wakeUps else { throw .failed("/proc does not tell about process \(process)") }
    residentBytes = pages * sysconf(Int32(_SC_PAGESIZE))
    self.wakeUps = wakeUps
  }

  private static func words(_ path: String) -> [Substring] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var text = [UInt8](repeating: 0, count: 16 * 1024)
    let count = text.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
    return String(decoding: text.prefix(max(0, count)), as: UTF8.self).split(whereSeparator: \.isWhitespace)
  }
}
