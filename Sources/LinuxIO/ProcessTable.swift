import AccessoryCore
import Glibc

/// Which process has something open, from the system's tables: only to name it in a message.
///
/// What belongs to another user's process or to another container is not to be seen from here, and the answer is nil.
enum ProcessTable {
  /// The process that listens on the unix socket at `path`.
  static func listener(onUnixPath path: String) -> Int32? {
    let wanted = resolved(path)
    // Num RefCount Protocol Flags Type St Inode Path
    for row in rows(of: "/proc/net/unix", columns: 8) where resolved(String(row[7])) == wanted {
      if let pid = holder(of: "socket:[\(row[6])]") { return pid }
    }
    return nil
  }

  /// The process that listens on a TCP port.
  static func listener(onPort port: UInt16) -> Int32? {
    let suffix = ":\(Hex.number(port))"
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
      // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …; state 0A is listening
      for row in rows(of: table, columns: 11) where row[1].hasSuffix(suffix) && row[3] == "0A" {
        if let pid = holder(of: "socket:[\(row[9])]") { return pid }
      }
    }
    return nil
  }

  /// The process that has the file at `path` open.
  static func holder(ofFile path: String) -> Int32? { holder(of: resolved(path)) }

  /// The process that has the pseudo terminal of this number.
  static func maker(ofTerminal number: Int) -> Int32? {
    let wanted = "tty-index:\t\(number)"
    return processes().first { pid in
      (Folder.names(in: "/proc/\(pid)/fd") ?? []).contains { name in
        guard link("/proc/\(pid)/fd/\(name)")?.hasSuffix("/ptmx") ?? false else { return false }
        return contents(of: "/proc/\(pid)/fdinfo/\(name)")?.split(separator: "\n").contains { $0 == wanted } ?? false
      }
    }
  }

  /// The process with a descriptor whose link reads `target`.
  private static func holder(of target: String) -> Int32? {
    processes().first { pid in
      (Folder.names(in: "/proc/\(pid)/fd") ?? []).contains { link("/proc/\(pid)/fd/\($0)") == target }
    }
  }

  private static func processes() -> [Int32] { (Folder.names(in: "/proc") ?? []).compactMap { Int32($0) } }

  // MARK: - Files

  private static func rows(of path: String, columns: Int) -> [[Substring]] {
    (contents(of: path) ?? "").split(separator: "\n")
      .map { $0.split(separator: " ", maxSplits: columns - 1, omittingEmptySubsequences: true) }
      .filter { $0.count == columns }
  }

  private static func resolved(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func link(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: 512)
    let count = readlink(path, &buffer, buffer.count)
    return count >= 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
  }

  private static func contents(of path: String) -> String? {
    bytes(of: path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// One of the system's tables as it is now; nil when it cannot be read.
  static func bytes(of path: String) -> [UInt8]? {
    guard let file = try? OwnedDescriptor(open(path, O_RDONLY | O_CLOEXEC), path) else { return nil }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(file.number, $0.baseAddress, $0.count) }
      guard count > 0 else { return bytes }
      bytes += buffer[..<count]
    }
  }
}
