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
      let family = family(address: address, file: FileIdentity(path: path), lock: lock, options: options)
      do {
        return try SocketListener(socket, address: address, on: loop, family: family, onEvent: onEvent)
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

  private static func family(
    address: Address, file: FileIdentity?, lock: PathLock?, options: TransportOptions
  ) -> SocketListener.Family {
    SocketListener.Family(
      examine: { accepted, _ in
        let process = PeerProcess(ofUnixSocket: accepted)
        let peer = PeerDescription(address: address, process: process)
        return (peer, options.allowsOtherUsers ? nil : TrustedUsers().refusal(of: process))
      },
      // Only this listener's own file is removed, because another process may have replaced it.
      cleanUp: {
        if let file, FileIdentity(path: file.path) == file { unlink(file.path) }
        lock?.release()
      })
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
