import AccessoryCore
import Glibc

/// Listens for this user's processes on a unix socket whose file has mode 0600.
///
/// The listener replaces the socket file of a dead process, but not a socket on which a process is listening. To check
/// without disturbing a listener, this type tries to connect a datagram socket. The attempt fails with "wrong type" if
/// the listener is alive, and with "refused" if the listener is dead. A ``PathLock`` prevents two processes from
/// replacing the file at the same time.
package enum UnixListener {
  static func open(
    path: String, on loop: any PollingLoop, options: TransportOptions, onEvent: @escaping (ListenerEvent) -> Void
  ) throws -> any Listener {
    let address = Address.unix(path: path)
    guard let name = SocketAddress(unixPath: path) else {
      throw TransportError.unusable(address, "a socket path has at most \(Address.longestUnixPath) bytes")
    }
    do {
      let lock = options.locksUnixPath ? try lock(path, address: address) : nil
      let socket = try OwnedDescriptor(
        socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0),
        "make a unix socket")
      // The new file inherits the socket's mode, so it is never accessible to other users.
      fchmod(socket.number, 0o600)
      try bind(socket.number, to: name, path: path, address: address)
      let file = FileIdentity(path: path)
      do {
        return try SocketListener(socket, address: address, on: loop, onEvent: onEvent) { accepted, _ in
          let process = PeerProcess(ofUnixSocket: accepted)
          let peer = PeerDescription(address: address, process: process)
          return (peer, options.allowsOtherUsers ? nil : TrustedUsers().refusal(of: process))
        } cleanUp: {
          // Only this listener's own file is removed, because another process may have replaced it.
          if let file, FileIdentity(path: file.path) == file { unlink(file.path) }
          lock?.release()
        }
      } catch {
        // The socket is bound, so the file belongs to this listener and must be removed.
        unlink(path)
        throw error
      }
    } catch let error as SystemError {
      throw TransportError(listening: error, at: address)
    }
  }

  private static func lock(_ path: String, address: Address) throws -> PathLock {
    do throws(PathLock.Problem) {
      return try PathLock(besides: path)
    } catch {
      switch error {
      case .held(let pid): throw TransportError.inUse(address, pid: pid)
      case .isForeign(let file):
        throw TransportError.unusable(address, "the file \(file) exists but is not an easim lock file; remove it")
      case .system(let error): throw error
      }
    }
  }

  private static func bind(_ socket: Int32, to name: SocketAddress, path: String, address: Address) throws {
    func attempt() -> Int32 { name.with { Glibc.bind(socket, $0, $1) } == 0 ? 0 : errno }
    var code = attempt()
    if code == EADDRINUSE {
      switch try occupant(of: name, path: path) {
      case .live: throw TransportError.inUse(address, pid: nil)
      case .dead:
        unlink(path)
        code = attempt()
      case .other: throw TransportError.unusable(address, "another file, which is not a socket, has this name")
      }
    }
    if code != 0 { throw SystemError("make the socket", code: code) }
  }

  enum Occupant {
    case live
    /// The path is unused, or refers to a socket whose process has ended.
    case dead
    /// The path refers to a file that is not a socket.
    case other
  }

  /// Returns true if a process is listening on the socket at the path, or if that cannot be determined.
  package static func isListened(at path: String) -> Bool {
    guard let name = SocketAddress(unixPath: path) else { return false }
    return ((try? occupant(of: name, path: path)) ?? .live) != .dead
  }

  static func occupant(of name: SocketAddress, path: String) throws(SystemError) -> Occupant {
    let probe = try OwnedDescriptor(
      socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0), "make a unix socket")
    if name.with({ connect(probe.number, $0, $1) }) == 0 { return .live }
    switch errno {
    case EPROTOTYPE: return .live
    case ENOENT: return .dead
    case ECONNREFUSED: return FileIdentity(path: path)?.isSocket == true ? .dead : .other
    default: throw SystemError("check whether the socket is in use", code: errno)
    }
  }
}

/// A file's device and inode numbers, which show whether the file at a path has been replaced.
struct FileIdentity: Equatable {
  let path: String
  let isSocket: Bool
  private let device: UInt
  private let inode: UInt

  init?(path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.path = path
    isSocket = status.st_mode & S_IFMT == S_IFSOCK
    device = UInt(status.st_dev)
    inode = UInt(status.st_ino)
  }
}

extension PeerProcess {
  init?(ofUnixSocket socket: Int32) {
    var pid: Int32 = 0
    var user: UInt32 = 0
    guard clinux_peer_credentials(socket, &pid, &user) == 0 else { return nil }
    self.init(pid: pid, user: user)
  }
}

/// A lock on the file `PATH.lock`, held while a listener is listening at PATH.
///
/// Without the lock, two processes could both find the socket of a dead process and replace it; the second would then
/// remove the socket of the first. The kernel releases the lock when the process ends, even if it crashes. A killed
/// process leaves its lock file behind, and the next process reuses the file.
///
/// The file contains the line `easim PID`. A file with any other content does not belong to easim and is left alone.
final class PathLock {
  enum Problem: Error {
    /// Another process holds the lock; the value is its process ID, if the file contains it.
    case held(pid: Int32?)
    case isForeign(String)
    case system(SystemError)
  }

  private static let mark = "easim "
  /// How many times to reopen the file if its owner has just removed it.
  private static let attempts = 100

  private let path: String
  private var descriptor: Int32

  init(besides path: String) throws(Problem) {
    self.path = path + ".lock"
    descriptor = -1
    for _ in 0..<Self.attempts {
      if let taken = try Self.take(self.path) {
        descriptor = taken
        return
      }
    }
    throw .held(pid: nil)
  }

  deinit { release() }

  func release() {
    guard descriptor >= 0 else { return }
    // The file is removed before it is unlocked, so that a process that has just opened the file can tell that the path
    // no longer leads to it.
    if Self.isStill(descriptor, at: path) { unlink(path) }
    close(descriptor)
    descriptor = -1
  }

  /// Opens and locks the file. Returns nil if the file was removed before it could be locked.
  private static func take(_ path: String) throws(Problem) -> Int32? {
    let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    if opened < 0, [EISDIR, ELOOP, ENXIO].contains(errno) { throw .isForeign(path) }
    guard opened >= 0 else { throw .system(.last("open \(path)")) }
    do throws(Problem) {
      if try lock(opened, at: path) { return opened }
      close(opened)
      return nil
    } catch {
      close(opened)
      throw error
    }
  }

  /// Locks the file. Returns false if the file was removed after it was opened.
  private static func lock(_ file: Int32, at path: String) throws(Problem) -> Bool {
    guard try isOurs(file) else { throw .isForeign(path) }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw .system(.last("lock \(path)")) }
      throw .held(pid: holder(file))
    }
    guard isStill(file, at: path) else { return false }
    let text = Array("\(mark)\(getpid())\n".utf8)
    ftruncate(file, 0)
    // If the write fails, the only effect is that other processes' messages omit the process ID.
    _ = text.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
    return true
  }

  /// Returns true if the file is a lock file: it belongs to this user or root, and contains either easim's line or, for
  /// a short time, nothing.
  private static func isOurs(_ file: Int32) throws(Problem) -> Bool {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .system(.last("look at a lock")) }
    guard status.st_mode & S_IFMT == S_IFREG else { return false }
    return status.st_size == 0 || text(file).hasPrefix(mark)
  }

  private static func holder(_ file: Int32) -> Int32? {
    Int32(text(file).dropFirst(mark.count).prefix { $0 != "\n" })
  }

  private static func text(_ file: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = buffer.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  private static func isStill(_ file: Int32, at path: String) -> Bool {
    var (opened, named) = (stat(), stat())
    guard fstat(file, &opened) == 0, lstat(path, &named) == 0 else { return false }
    return (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)
  }
}
