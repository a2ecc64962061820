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
}

/// Decides whether to trust the other end of a socket. Each method returns the reason for a refusal, or nil if the
/// other end is trusted.
extension TrustedUsers {
  /// Checks the process at the other end of a unix socket, and refuses an unknown process.
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
/// `sock_diag` queries the kernel about only this socket. If the kernel lacks that interface, `/proc/net/tcp` and
/// `tcp6` are read, which takes milliseconds per connection, so a flood of connections would block the loop.
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

  /// How many times the kernel's tables are read before a local socket counts as missing. The tables are read in
  /// pieces, so a line can be missed while other lines appear and disappear.
  private static let attempts = 3

  /// Finds the owner of the socket at the other end of this connected socket.
  package init(of socket: Int32) {
    let own = SocketAddress.filled { getsockname(socket, $0, $1) }
    let other = SocketAddress.filled { getpeername(socket, $0, $1) }
    guard own.result == 0, other.result == 0, let near = TCPEndpoint(own.address), let far = TCPEndpoint(other.address)
    else {
      self = .unknown
      return
    }
    if let owner = far.owner(connectedTo: near) {
      self = owner.hasProcess ? .user(owner.user) : .unknown
    } else if near.owner(connectedTo: far) != nil {
      // The kernel's interface works but found nothing, so no process owns the socket at the other end.
      self = far.isHere(for: near) ? .unknown : .remote
    } else {
      self.init(at: far, connectedTo: near) { TCPSocketTable.read($0) }
    }
  }

  init(at far: TCPEndpoint, connectedTo near: TCPEndpoint, read: (TCPSocketTable.Kind) -> TCPSocketTable) {
    let isHere = far.isHere(for: near)
    for _ in 0..<(isHere ? Self.attempts : 1) {
      for kind in TCPSocketTable.Kind.allCases {
        guard let owner = read(kind).owner(of: far, connectedTo: near) else { continue }
        self = owner.hasProcess ? .user(owner.user) : .unknown
        return
      }
    }
    self = isHere ? .unknown : .remote
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

  /// Returns the owner of this end's socket as reported by `sock_diag`, or nil if there is no owner or the kernel lacks
  /// the interface.
  func owner(connectedTo other: TCPEndpoint) -> TCPSocketTable.Owner? {
    guard host.count == other.host.count else { return nil }
    var (user, inode): (UInt32, UInt32) = (0, 0)
    let family = host.count == 4 ? AF_INET : AF_INET6
    guard clinux_tcp_owner(family, host, port, other.host, other.port, &user, &inode) == 0 else { return nil }
    return TCPSocketTable.Owner(user: user, hasProcess: inode != 0)
  }

  /// Returns the endpoint as the kernel's tables show it: in hexadecimal, as words of four bytes in this machine's byte
  /// order.
  func text(in kind: TCPSocketTable.Kind) -> String? {
    let bytes: [UInt8]
    switch (kind, host.count) {
    case (.ipv4, 4), (.ipv6, 16): bytes = host
    case (.ipv6, _): bytes = Self.mapped + host
    case (.ipv4, _): return nil
    }
    let words = stride(from: 0, to: bytes.count, by: 4).map { start in
      let word = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: UInt32.self) }
      return Hex.number(word)
    }
    return words.joined() + ":" + Hex.number(port)
  }
}

/// One of the kernel's tables of TCP sockets, as text.
///
/// ```
///   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
///    0: 0100007F:0CA8 0100007F:A3C4 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000
/// ```
struct TCPSocketTable {
  enum Kind: String, CaseIterable {
    case ipv4 = "/proc/net/tcp"
    case ipv6 = "/proc/net/tcp6"
  }

  struct Owner: Equatable {
    var user: UInt32
    /// Whether a process owns the socket; if not, the user is 0 and meaningless.
    var hasProcess: Bool
  }

  let kind: Kind
  let text: [UInt8]

  static func read(_ kind: Kind) -> Self { Self(kind: kind, text: SmallFile.read(kind.rawValue, limit: .max) ?? []) }

  /// Returns the owner of the socket at one end of a connection, or nil if the table has no readable line for the
  /// socket. A socket that belongs to a process takes precedence over a socket in TIME_WAIT.
  func owner(of end: TCPEndpoint, connectedTo other: TCPEndpoint) -> Owner? {
    guard let end = end.text(in: kind), let other = other.text(in: kind) else { return nil }
    let ends = Array(": \(end) \(other) ".utf8)
    var found: Owner?
    var start = 0
    while let next = place(of: ends, from: start) {
      start = next + ends.count
      let line = text[start...].prefix { $0 != UInt8(ascii: "\n") }
      guard let owner = Self.owner(String(decoding: line, as: UTF8.self)) else { continue }
      if owner.hasProcess { return owner }
      found = owner
    }
    return found
  }

  /// Finds the next occurrence of these bytes. Lines without these bytes are not parsed, because a table may have ten
  /// thousand lines.
  private func place(of bytes: [UInt8], from start: Int) -> Int? {
    text.withUnsafeBytes { all in
      bytes.withUnsafeBytes { wanted in
        guard let base = all.baseAddress, let sought = wanted.baseAddress,
          let found = clinux_find(base + start, all.count - start, sought, wanted.count)
        else { return nil }
        return found - base
      }
    }
  }

  /// Reads the fields after the two addresses: state, queues, timer, timeouts, user, probes, inode.
  private static func owner(_ rest: String) -> Owner? {
    let columns = rest.split(separator: " ", maxSplits: 7, omittingEmptySubsequences: true)
    guard columns.count >= 7, let user = UInt32(columns[4]), let inode = UInt64(columns[6]) else { return nil }
    return Owner(user: user, hasProcess: inode != 0)
  }
}
