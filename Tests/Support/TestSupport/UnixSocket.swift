import Glibc

/// Plain blocking sockets that have a path as their address.
public enum UnixSocket {
  /// Returns a new socket that has been passed to `connect` or `bind`. If that call failed, returns nil, with the
  /// reason in `errno`.
  public static func make(
    _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ path: String
  ) -> Int32? {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    if result == 0 { return descriptor }
    let code = errno
    close(descriptor)
    errno = code
    return nil
  }
}
