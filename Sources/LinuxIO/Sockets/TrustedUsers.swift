import AccessoryCore
import AccessoryFormats
import Glibc

/// The users on this machine that are trusted at the other end of a socket: root, this process's user, and, if this
/// process was started through sudo, the user who ran sudo.
package struct TrustedUsers: Equatable, Sendable {
  private let users: Set<UInt32>

  /// - Parameters:
  ///   - user: this process's user.
  ///   - sudoUser: the value of `SUDO_UID`, which is used only if this process runs as root.
  package init(user: UInt32 = geteuid(), sudoUser: String? = getenv("SUDO_UID").map { String(cString: $0) }) {
    let caller = user == 0 ? sudoUser.flatMap { UInt32($0) } : nil
    users = Set([0, user] + (caller.map { [$0] } ?? []))
  }

  package func contains(_ user: UInt32) -> Bool { users.contains(user) }

  /// Returns all trusted users as part of a sentence, such as "root and user 1000". `word` is placed before the last
  /// user.
  package func names(_ word: String = "and") -> String {
    let others = users.filter { $0 != 0 }.sorted().map { "user \($0)" }
    return (["root"] + others).joined(separator: " \(word) ")
  }

  /// Checks the process at the other end of a unix socket, and refuses an unknown process. Like the other checks, this
  /// one returns the reason for a refusal, or nil if the other end is trusted.
  package func refusal(of process: PeerProcess?) -> String? {
    guard let process else { return unknown }
    return contains(process.user) ? nil : other(process.user)
  }

  /// Checks the other end of a TCP connection. ``TransportOptions/allowsRemote`` decides whether other machines are
  /// allowed.
  package func refusal(of peer: TCPPeer) -> String? {
    switch peer {
    case .remote: nil
    case .user(let user): contains(user) ? nil : other(user)
    case .unknown: unknown
    }
  }

  /// Checks the process that is listening at the address that this process has connected to.
  package func refusal(ofServer process: PeerProcess?) -> String? {
    guard let process else { return "the system does not show the process's user" }
    return contains(process.user) ? nil : "the process belongs to user \(process.user), but only \(names()) are trusted"
  }

  private func other(_ user: UInt32) -> String {
    "the process belongs to user \(user), but only \(names()) may connect"
  }

  private var unknown: String {
    "the system does not show the process's user, but only \(names()) may connect"
  }
}

/// The user at the other end of a TCP connection.
///
/// TCP does not transmit the user, but if both ends are on one machine, the kernel knows which user's process created
/// the other socket, whichever end accepted the connection.
///
/// `sock_diag` queries the kernel about only this socket. Reading `/proc/net/tcp` instead would take milliseconds per
/// connection, so a flood of connections would block the loop.
///
/// ```swift
/// switch TCPPeer(of: descriptor) {
/// case .user(let user): print("user \(user)")
/// case .unknown: print("on this machine, of an unknown user")
/// case .remote: print("on another machine")
/// }
/// ```
///
/// A server's user is known only after the server has accepted the connection; until then, the result is ``unknown``.
package enum TCPPeer: Hashable, Sendable {
  /// The other socket is on this machine, and a process of this user created it.
  case user(UInt32)
  /// The other socket is on this machine but belongs to no process, because it has not been accepted yet or is already
  /// closed.
  case unknown
  case remote

  /// Finds the owner of the socket at the other end of this connected socket.
  package init(of socket: Int32) {
    let own = SocketAddress.filled { getsockname(socket, $0, $1) }
    let other = SocketAddress.filled { getpeername(socket, $0, $1) }
    guard own.result == 0, other.result == 0, let near = TCPEndpoint(own.address), let far = TCPEndpoint(other.address)
    else {
      self = .unknown
      return
    }
    // No process owns the socket at the other end, unless that end is on another machine.
    self = far.owner(connectedTo: near) ?? (far.isHere(for: near) ? .unknown : .remote)
  }
}

/// An IPv4 address in IPv6 form (`::ffff:127.0.0.1`) counts as equal to the plain IPv4 address.
struct TCPEndpoint: Hashable, Sendable {
  /// The address: 4 or 16 bytes in network order.
  let host: [UInt8]
  let port: UInt16

  private static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

  init(host: [UInt8], port: UInt16) {
    precondition([4, 16].contains(host.count), "an address has 4 or 16 bytes")
    self.host = host.count == 16 && host.starts(with: Self.mapped) ? Array(host[12...]) : host
    self.port = port
  }

  /// Creates an endpoint, or returns nil if the address belongs to another family.
  init?(_ address: SocketAddress) {
    let read = address.with { name, _ -> (host: [UInt8], port: UInt16)? in
      switch Int32(name.pointee.sa_family) {
      case AF_INET:
        name.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          (withUnsafeBytes(of: $0.pointee.sin_addr, Array.init), UInt16(bigEndian: $0.pointee.sin_port))
        }
      case AF_INET6:
        name.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
          (withUnsafeBytes(of: $0.pointee.sin6_addr, Array.init), UInt16(bigEndian: $0.pointee.sin6_port))
        }
      default: nil
      }
    }
    guard let read else { return nil }
    self.init(host: read.host, port: read.port)
  }

  var isLoopback: Bool { host.count == 4 ? host[0] == 127 : host.last == 1 && host.dropLast().allSatisfy { $0 == 0 } }

  /// Returns true if this address belongs to the same machine as `near`, the connection's other end.
  func isHere(for near: TCPEndpoint) -> Bool { isLoopback || host == near.host }

  /// Returns the user of this end's socket as reported by `sock_diag`, or nil if there is no such socket or the kernel
  /// lacks the interface. The inode of a socket without a process is 0, and its user is meaningless.
  func owner(connectedTo other: TCPEndpoint) -> TCPPeer? {
    guard host.count == other.host.count else { return nil }
    var (user, inode): (UInt32, UInt32) = (0, 0)
    let family = host.count == 4 ? AF_INET : AF_INET6
    guard clinux_tcp_owner(family, host, port, other.host, other.port, &user, &inode) == 0 else { return nil }
    return inode == 0 ? .unknown : .user(user)
  }
}
