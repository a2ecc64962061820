import Glibc
import LinuxIO
import TestSupport

/// The peer's side of a socket connection, which uses plain blocking calls.
final class RawSocket: @unchecked Sendable {
  private var descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  convenience init(connectingTo path: String) throws {
    guard let descriptor = UnixSocket.make(connect, path) else { throw SystemError("connect", code: errno) }
    self.init(descriptor)
  }

  deinit { close() }

  /// Creates a nonblocking descriptor for a channel, and its peer.
  static func pair() throws -> (nonBlocking: Int32, other: RawSocket) {
    var ends: [Int32] = [0, 0]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw SystemError("make a pair of sockets", code: errno)
    }
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    return (ends[0], RawSocket(ends[1]))
  }

  func write(_ text: String) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }

  func writeAll(_ count: Int) {
    let bytes = [UInt8](repeating: 7, count: count)
    var sent = 0
    while sent < count {
      let taken = bytes[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      // Signals that the test library sends may interrupt any thread.
      guard taken > 0 || errno == EINTR else { return }
      sent += max(0, taken)
    }
  }

  func read() -> String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    var count = -1
    repeat { count = recv(descriptor, &bytes, bytes.count, 0) } while count < 0 && errno == EINTR
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  var isBroken: Bool {
    var byte: UInt8 = 0
    return send(descriptor, &byte, 1, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) < 0 && errno == EPIPE
  }

  func shutDownReading() { shutdown(descriptor, Int32(SHUT_RD)) }

  func shutDownWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Closes this socket even while another program is being launched. Until the new process calls exec, it holds a copy
  /// of every descriptor. A socket stays open for as long as there is a copy of its descriptor.
  func close() {
    if descriptor >= 0 {
      shutdown(descriptor, Int32(SHUT_RDWR))
      Glibc.close(descriptor)
    }
    descriptor = -1
  }
}

/// Plain blocking TCP sockets on this machine.
enum RawTCP {
  static func listen(backlog: Int32) throws -> (descriptor: Int32, port: UInt16) {
    var name = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = try make(&name, port: 0) {
      bind($0, $1, size) == 0 && Glibc.listen($0, backlog) == 0 && getsockname($0, $1, &size) == 0
    }
    return (descriptor, UInt16(bigEndian: name.sin_port))
  }

  static func connect(_ port: UInt16) throws -> Int32 {
    var name = sockaddr_in()
    return try make(&name, port: port) { Glibc.connect($0, $1, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 }
  }

  private static func make(
    _ name: inout sockaddr_in, port: UInt16, _ prepare: (Int32, UnsafeMutablePointer<sockaddr>) -> Bool
  ) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    (name.sin_family, name.sin_port) = (sa_family_t(AF_INET), port.bigEndian)
    name.sin_addr.s_addr = inet_addr("127.0.0.1")
    let isPrepared = withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { prepare(descriptor, $0) }
    }
    guard isPrepared else { throw SystemError("make a TCP socket", code: errno) }
    return descriptor
  }
}

final class DescriptorLimit {
  private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

  private var before = rlimit()

  init(_ count: rlim_t) throws {
    getrlimit(Self.resource, &before)
    var limit = before
    limit.rlim_cur = count
    guard setrlimit(Self.resource, &limit) == 0 else { throw SystemError("limit descriptors", code: errno) }
    while dup(0) >= 0 {}
  }

  func lift() { setrlimit(Self.resource, &before) }
}
