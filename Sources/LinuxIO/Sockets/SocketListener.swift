import AccessoryCore
import Glibc

/// A listening stream socket of any family, which accepts connections, examines each peer, and then delivers or refuses
/// the connection.
final class SocketListener: Listener, DescriptorHandler {
  typealias Examination = (_ accepted: Int32, _ from: SocketAddress) -> (peer: PeerDescription, refusal: String?)

  private static let pause = Duration.milliseconds(100)

  let address: Address
  private let loop: any PollingLoop
  private let examine: Examination
  private let cleanUp: () -> Void
  /// Called with each event. The closure is released when the listener ends, because the closure's owner often retains
  /// the listener.
  private var onEvent: ((ListenerEvent) -> Void)?
  private var descriptor: Int32
  private var watch: (any DescriptorWatch)?
  private var cannotAccept = false

  init(
    _ socket: consuming OwnedDescriptor, address: Address, on loop: any PollingLoop,
    onEvent: @escaping (ListenerEvent) -> Void, examine: @escaping Examination, cleanUp: @escaping () -> Void = {}
  ) throws {
    // On Linux, accepted connections inherit the listener's options.
    SocketOptions.apply(to: socket.number)
    guard listen(socket.number, SOMAXCONN) == 0 else { throw SystemError.last("listen") }
    self.address = address
    self.loop = loop
    self.examine = examine
    self.cleanUp = cleanUp
    self.onEvent = onEvent
    descriptor = socket.release()
    watch = try loop.watch(descriptor, for: .readable, self)
  }

  deinit {
    if descriptor >= 0 {
      Glibc.close(descriptor)
      cleanUp()
    }
  }

  func close() {
    loop.preconditionCurrent()
    guard descriptor >= 0 else { return }
    watch?.cancel()
    watch = nil
    onEvent = nil
    Glibc.close(descriptor)
    descriptor = -1
    cleanUp()
  }

  func descriptorReady(_ readiness: Readiness) {
    // Each turn accepts only one connection. A flood of new connections would otherwise leave no time for existing
    // ones, and checking for another would delay the first bytes of this one.
    let (accepted, from) = SocketAddress.filled { clinux_accept(descriptor, $0, $1) }
    guard accepted >= 0 else { return acceptFailed(errno) }
    cannotAccept = false
    let (peer, refusal) = examine(accepted, from)
    if let refusal {
      Glibc.close(accepted)
      onEvent?(.refused(peer, reason: refusal))
    } else {
      onEvent?(.accepted(Cable(main: DescriptorChannel(taking: accepted, as: .socket, on: loop)), peer))
    }
  }

  private func acceptFailed(_ code: Int32) {
    switch code {
    case EAGAIN, EINTR, ECONNABORTED: return
    default:
      // The connection stays in the backlog and would be reported again immediately, so listening pauses.
      watch?.change(to: [])
      loop.schedule(after: Self.pause) { [weak self] in self?.watch?.change(to: .readable) }
      if !cannotAccept { onEvent?(.cannotAccept(SystemError("accept at \(address)", code: code))) }
      cannotAccept = true
    }
  }
}

package enum SocketOptions {
  static func apply(to socket: Int32) {
    // TCP_NODELAY is set because the link itself decides when to combine packets. Setting TCP options on unix sockets
    // fails harmlessly.
    set(TCP_NODELAY, of: Int32(IPPROTO_TCP), to: 1, on: socket)
    // iAP2 has no keep-alive, and a machine that was switched off sends nothing. With SO_KEEPALIVE, TCP detects a
    // switched-off machine within about a minute.
    set(SO_KEEPALIVE, of: SOL_SOCKET, to: 1, on: socket)
    set(TCP_KEEPIDLE, of: Int32(IPPROTO_TCP), to: 30, on: socket)
    set(TCP_KEEPINTVL, of: Int32(IPPROTO_TCP), to: 10, on: socket)
    set(TCP_KEEPCNT, of: Int32(IPPROTO_TCP), to: 3, on: socket)
  }

  static func set(_ option: Int32, of level: Int32, to value: Int32, on socket: Int32) {
    var value = value
    setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Returns a socket's pending error, and clears it.
  package static func pendingError(of socket: Int32) -> Int32 {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno
  }
}

/// Listens on a TCP port; by default, only processes of this user and root on this machine can connect.
package enum TCPListener {
  /// Starts listening. Errors name `address`, which is another kind of address if a medium uses TCP.
  package static func open(
    host: String, port: UInt16, of address: Address, on loop: any PollingLoop, options: TransportOptions,
    onEvent: @escaping (ListenerEvent) -> Void
  ) throws -> any Listener {
    let name = try place(of: address, host, port, allowsRemote: options.allowsRemote)
    do {
      let socket = try boundSocket(to: name)
      let bound = SocketAddress.filled { getsockname(socket.number, $0, $1) }.address
      return try SocketListener(
        socket, address: .tcp(host: host, port: TCPEndpoint(bound)?.port ?? port), on: loop, onEvent: onEvent
      ) { accepted, from in
        let peer = PeerDescription(address: from.tcpAddress ?? address)
        return (peer, options.allowsOtherUsers ? nil : TrustedUsers().refusal(of: TCPPeer(of: accepted)))
      }
    } catch let error as SystemError where error.code == EADDRINUSE {
      throw TransportError.inUse(address, pid: ProcessTable.listener(onPort: port))
    } catch let error as SystemError {
      throw TransportError(listening: error, at: address)
    }
  }

  private static func place(
    of address: Address, _ host: String, _ port: UInt16, allowsRemote: Bool
  ) throws(TransportError) -> SocketAddress {
    guard let name = NameResolver.known(host, port: port)?.first else {
      throw TransportError.unusable(address, "a listener needs an IP address or 'localhost', not the name '\(host)'")
    }
    guard allowsRemote || name.isLoopback else { throw TransportError.remoteNotAllowed(address) }
    return name
  }

  private static func boundSocket(to name: SocketAddress) throws -> OwnedDescriptor {
    let socket = try OwnedDescriptor(
      Glibc.socket(name.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0),
      "make a TCP socket")
    // With SO_REUSEADDR, a previous listener's connections that are still closing do not prevent binding.
    SocketOptions.set(SO_REUSEADDR, of: SOL_SOCKET, to: 1, on: socket.number)
    guard name.with({ bind(socket.number, $0, $1) }) == 0 else { throw SystemError.last("take the port") }
    return socket
  }
}

extension SocketAddress {
  var isLoopback: Bool { TCPEndpoint(self)?.isLoopback ?? false }

  var tcpAddress: Address? {
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var service = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    guard family == AF_INET || family == AF_INET6 else { return nil }
    let code = with {
      getnameinfo(
        $0, $1, &host, socklen_t(host.count), &service, socklen_t(service.count), NI_NUMERICHOST | NI_NUMERICSERV)
    }
    guard code == 0, let port = UInt16(String(terminated: service)) else { return nil }
    return .tcp(host: String(terminated: host), port: port)
  }
}
