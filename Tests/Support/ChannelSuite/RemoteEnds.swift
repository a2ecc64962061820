import AccessoryCore
import CLinux
import Glibc

/// A peer that is a raw descriptor with blocking calls, so that the kernel determines what the peer's death looks like.
public final class DescriptorEnd: RemoteEnd {
  /// The socket's address family.
  public enum Family: Sendable {
    case unix
    case tcp
    case tcp6
  }

  private var descriptor: Int32

  /// Takes ownership of a descriptor.
  public init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  deinit { dispose() }

  /// Creates a connected pair of sockets with small buffers. One descriptor is for a channel, and the other is the
  /// peer.
  public static func pair(_ family: Family) throws -> (nonBlocking: Int32, other: DescriptorEnd) {
    let pair =
      switch family {
      case .unix: try unixPair()
      case .tcp: try internetPair(AF_INET)
      case .tcp6: try internetPair(AF_INET6)
      }
    _ = fcntl(pair.0, F_SETFL, O_NONBLOCK)
    return (pair.0, DescriptorEnd(pair.1))
  }

  /// Sends all of these bytes.
  public func send(_ bytes: [UInt8]) {
    precondition(write(descriptor, bytes, bytes.count) == bytes.count, "no room for few bytes: \(errno)")
  }

  /// Sends as many bytes as there is room for. Returns the number of bytes that it sent.
  public func sendSome(_ bytes: [UInt8]) -> Int {
    max(0, Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)))
  }

  /// Reads the bytes that have arrived, up to `count`.
  public func receive(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = max(0, recv(descriptor, buffer.baseAddress, count, Int32(MSG_DONTWAIT)))
    }
  }

  /// Causes the peer to die.
  public func die(_ death: Death) {
    switch death {
    case .close: dispose()
    case .halfClose: shutdown(descriptor, Int32(SHUT_WR))
    case .reset:
      var reset = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
      dispose()
    case .kill: giveToAProcessAndKillIt()
    case .cut: preconditionFailure("a descriptor has no cable to pull")
    }
  }

  /// Closes the descriptor.
  public func dispose() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  private func giveToAProcessAndKillIt() {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, descriptor, STDIN_FILENO)
    // Prevents the process from inheriting the descriptors of tests that run at the same time.
    clinux_close_from(&actions, STDIN_FILENO + 1)
    var words: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("60"), nil]
    defer { for word in words { free(word) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, "/bin/sleep", &actions, nil, &words, [nil])
    precondition(code == 0, "no process to kill: \(code)")
    dispose()
    kill(child, SIGKILL)
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
  }

  // MARK: Pairs

  private static let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)

  private static func unixPair() throws -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw CheckFailure("no pair of sockets: \(errno)") }
    return (ends[0], ends[1])
  }

  private static func internetPair(_ family: Int32) throws -> (Int32, Int32) {
    let listener = socket(family, kind, 0)
    let other = socket(family, kind, 0)
    defer { close(listener) }
    var room: Int32 = 16 * 1024
    setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &room, 4)
    setsockopt(other, SOL_SOCKET, SO_RCVBUF, &room, 4)
    var address = sockaddr_storage()
    address.ss_family = sa_family_t(family)
    var length = socklen_t(family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)
    // Connecting to the wildcard address reaches this machine.
    let isConnected = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &length) == 0
          && connect(other, $0, length) == 0
      }
    }
    let accepted = accept(listener, nil, nil)
    guard isConnected, accepted >= 0 else { throw CheckFailure("no connected sockets: \(errno)") }
    _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
    var yes: Int32 = 1
    setsockopt(accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, 4)
    return (accepted, other)
  }
}

/// A peer that is a channel on the same loop.
public final class ChannelledEnd: RemoteEnd {
  private let channel: any Channel
  private let cut: (() -> Void)?
  private let probe: Probe

  /// Starts the channel but does not read from it. `cut` must unplug the cable.
  public init(_ channel: any Channel, cut: (() -> Void)?) {
    self.channel = channel
    self.cut = cut
    probe = Probe("other", channel, CallGuardian())
    probe.pause()
    probe.start()
  }

  /// Sends all of these bytes.
  public func send(_ bytes: [UInt8]) {
    precondition(channel.send(bytes.span.bytes) == bytes.count, "no room for few bytes")
  }

  /// Causes the peer to die.
  public func die(_ death: Death) {
    switch death {
    case .close: channel.close()
    case .cut: cut?()
    case .reset, .kill, .halfClose: preconditionFailure("a channel has no \(death)")
    }
  }

  /// Closes the channel.
  public func dispose() { channel.close() }
}
