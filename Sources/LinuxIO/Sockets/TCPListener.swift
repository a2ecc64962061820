import AccessoryCore
import Glibc

/// Listening on a TCP port, of this machine only unless remote peers are allowed, and for the user's own processes and
/// root's unless other users are.
package enum TCPListener {
  static func open(
    host: String, port: UInt16, on loop: any PollingLoop, options: TransportOptions,
    onEvent: @escaping (ListenerEvent) -> Void
  ) throws -> any Listener {
    let address = Address.tcp(host: host, port: port)
    let name = try place(of: address, host, port, allowsRemote: options.allowsRemote)
    return try explaining(address, port) {
      let socket = try boundSocket(to: name)
      let bound = SocketAddress.filled { getsockname(socket.number, $0, $1) }.address
      let family = SocketListener.Family(
        examine: { accepted, from in
          let peer = PeerDescription(address: from.tcpAddress ?? address)
          return (peer, options.allowsOtherUsers ? nil : TrustedUsers().refusal(of: TCPPeer(of: accepted)))
        }, cleanUp: {})
      return try SocketListener(
        socket, address: .tcp(host: host, port: bound.port ?? port), on: loop, options: options, family: family,
        onEvent: onEvent)
    }
  }

  private static func place(
    of address: Address, _ host: String, _ port: UInt16, allowsRemote: Bool
  ) throws(TransportError) -> SocketAddress {
    guard let name = NameResolver.known(host, port: port)?.first else {
      throw TransportError.unusable(address, "a listener needs a number or 'localhost', not the name '\(host)'")
    }
    guard allowsRemote || name.isLoopback else { throw TransportError.remoteNotAllowed(address) }
    return name
  }

  private static func boundSocket(to name: SocketAddress) throws -> OwnedDescriptor {
    let socket = try OwnedDescriptor(
      Glibc.socket(name.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0),
      "make a TCP socket")
    // Connections of a predecessor that are still dying do not count as in use.
    SocketOptions.set(SO_REUSEADDR, of: SOL_SOCKET, to: 1, on: socket.number)
    guard name.with({ bind(socket.number, $0, $1) }) == 0 else { throw SystemError.last("take the port") }
    return socket
  }

  private static func explaining<Result>(
    _ address: Address, _ port: UInt16, _ make: () throws -> Result
  ) throws -> Result {
    do { return try make() } catch let error as SystemError where error.code == EADDRINUSE {
      throw TransportError.inUse(address, pid: ProcessTable.listener(onPort: port))
    } catch let error as SystemError {
      throw TransportError(listening: error, at: address)
    }
  }
}

extension SocketAddress {
  /// Whether it is this machine and cannot be another.
  var isLoopback: Bool {
    with { address, _ in
      switch Int32(address.pointee.sa_family) {
      case AF_INET:
        address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          UInt32(bigEndian: $0.pointee.sin_addr.s_addr) >> 24 == 127
        }
      case AF_INET6:
        address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
          withUnsafeBytes(of: $0.pointee.sin6_addr) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
        }
      default: false
      }
    }
  }

  /// The port of an internet address.
  var port: UInt16? { tcpAddress.flatMap { if case .tcp(_, let port) = $0 { port } else { nil } } }

  /// The numeric address; nil when it is not an internet address.
  var tcpAddress: Address? {
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var service = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    guard family == AF_INET || family == AF_INET6 else { return nil }
    let code = with {
      getnameinfo(
        $0, $1, &host, socklen_t(host.count), &service, socklen_t(service.count), NI_NUMERICHOST | NI_NUMERICSERV)
    }
    guard code == 0, let port = UInt16(Self.text(service)) else { return nil }
    return .tcp(host: Self.text(host), port: port)
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
