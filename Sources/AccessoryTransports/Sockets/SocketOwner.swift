import Glibc

/// Which process listens on a unix socket, from the system's tables: only to name it in a message.
enum SocketOwner {
  /// The process that listens at `path`; nil when it is not to be seen from here (another user's, another container's).
  static func find(path: String) -> Int32? {
    guard let table = contents(of: "/proc/net/unix") else { return nil }
    let wanted = resolved(path)
    for line in table.split(separator: "\n") {
      // Num RefCount Protocol Flags Type St Inode Path
      let fields = line.split(separator: " ", maxSplits: 7, omittingEmptySubsequences: true)
      guard fields.count == 8, resolved(String(fields[7])) == wanted else { continue }
      if let pid = holder(ofSocket: String(fields[6])) { return pid }
    }
    return nil
  }

  private static func holder(ofSocket inode: String) -> Int32? {
    let target = "socket:[\(inode)]"
    for name in entries(of: "/proc") {
      guard let pid = Int32(name) else { continue }
      let descriptors = "/proc/\(name)/fd"
      if entries(of: descriptors).contains(where: { link("\(descriptors)/\($0)") == target }) { return pid }
    }
    return nil
  }

  private static func resolved(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func link(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: 256)
    let count = readlink(path, &buffer, buffer.count)
    return count >= 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
  }

  private static func entries(of directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  private static func contents(of path: String) -> String? {
    guard let file = try? OwnedDescriptor(open(path, O_RDONLY | O_CLOEXEC), path) else { return nil }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(file.number, $0.baseAddress, $0.count) }
      guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }
}
