import AccessoryCore
import Glibc

/// Connects a stream socket: resolves the name if necessary, tries each address without blocking, and reports one
/// result.
final class SocketConnector: Connecting, DescriptorHandler {
  typealias Completion = (Transports.Answer) -> Void

  /// How long to wait if a unix listener's backlog is full; the kernel does not report when there is room again.
  private static let retryPause = Duration.milliseconds(10)

  enum Destination {
    case known([SocketAddress])
    case name(String, port: UInt16)
  }

  private enum State {
    /// The connector is waiting for the addresses, or is about to try the first remaining address.
    case waiting
    case connecting(Int32, any DescriptorWatch)
    case over
  }

  private let address: Address
  private let loop: any PollingLoop
  private let options: TransportOptions
  private let timeout: Duration
  private let completion: Completion
  private var candidates: [SocketAddress] = []
  private var state = State.waiting
  /// The timer and the connector retain each other, so the timer is released when it fires.
  private var attempt: LoopTimer?
  private var limit: LoopTimer?

  init(
    to destination: Destination, address: Address, on loop: any PollingLoop, options: TransportOptions,
    timeout: Duration, completion: @escaping Completion
  ) {
    self.address = address
    self.loop = loop
    self.options = options
    self.timeout = timeout
    self.completion = completion
    // The timer, the name resolution and the watch keep the connector alive.
    attempt = loop.schedule(after: .zero) {
      self.attempt = nil
      self.begin(destination)
    }
    limit = loop.schedule(after: timeout) { [weak self] in self?.finish(.failure(.timedOut(address, after: timeout))) }
  }

  func cancel() {
    loop.preconditionCurrent()
    abandon()
  }

  func descriptorReady(_ readiness: Readiness) {
    guard case .connecting(let socket, let watch) = state else { return }
    watch.cancel()
    state = .waiting
    let code = SocketOptions.pendingError(of: socket)
    if code == 0 { return succeed(socket) }
    close(socket)
    failed(code)
  }

  private func begin(_ destination: Destination) {
    switch destination {
    case .known(let addresses):
      candidates = addresses
      connectNext()
    case .name(let host, let port):
      let this = LoopBound(self, on: loop)
      do {
        try NameResolver.resolve(host, port: port, on: loop) { result in
          this.value.resolved(result, host: host)
        }
      } catch {
        finish(.failure(.system(address, error)))
      }
    }
  }

  private func resolved(_ result: Result<[SocketAddress], NameResolver.Failure>, host: String) {
    switch result {
    case .success(let addresses):
      candidates = addresses
      connectNext()
    case .failure(let failure):
      finish(.failure(.nobodyThere(address, "'\(host)' has no address (\(failure.reason))")))
    }
  }

  private func connectNext() {
    guard case .waiting = state, let candidate = candidates.first else { return }
    do {
      let socket = try OwnedDescriptor(
        socket(candidate.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0),
        "make a socket")
      let code = candidate.with { connect(socket.number, $0, $1) } == 0 ? 0 : errno
      switch code {
      case 0: succeed(socket.release())
      case EINPROGRESS:
        let watch = try loop.watch(socket.number, for: .writable, self)
        state = .connecting(socket.release(), watch)
      case EAGAIN, EINTR:
        attempt = loop.schedule(after: Self.retryPause) {
          self.attempt = nil
          self.connectNext()
        }
      default: failed(code)
      }
    } catch let error as SystemError {
      finish(.failure(.system(address, error)))
    } catch {
      finish(.failure(.unusable(address, "\(error)")))
    }
  }

  private func failed(_ code: Int32) {
    candidates.removeFirst()
    if candidates.isEmpty {
      finish(.failure(TransportError(connecting: SystemError("connect", code: code), to: address)))
    } else {
      connectNext()
    }
  }

  private func succeed(_ socket: Int32) {
    SocketOptions.apply(to: socket)
    let peer = PeerDescription(address: address, process: PeerProcess(ofUnixSocket: socket))
    // The kernel knows which user owns a unix listener immediately. For a TCP listener, it knows only after the
    // listener has accepted the connection.
    if address.kind != .tcp, !options.allowsOtherUsers, let reason = TrustedUsers().refusal(ofServer: peer.process) {
      close(socket)
      return finish(.failure(.otherUser(address, reason)))
    }
    finish(.success((Cable(main: DescriptorChannel(taking: socket, as: .socket, on: loop)), peer)))
  }

  private func finish(_ result: Transports.Answer) {
    if case .over = state { return }
    abandon()
    completion(result)
  }

  private func abandon() {
    if case .connecting(let socket, let watch) = state {
      watch.cancel()
      close(socket)
    }
    state = .over
    attempt?.cancel()
    attempt = nil
    limit?.cancel()
    limit = nil
  }
}

struct SocketAddress {
  private var storage = sockaddr_storage()
  private(set) var length: socklen_t

  /// Creates the address of a unix socket, or returns nil if the path is too long.
  init?(unixPath path: String) {
    var address = sockaddr_un()
    let room = MemoryLayout.size(ofValue: address.sun_path)
    let bytes = Array(path.utf8)
    guard bytes.count < room, !bytes.contains(0) else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + bytes.count + 1 } ?? 0)
    withUnsafeMutableBytes(of: &storage) { target in
      withUnsafeBytes(of: &address) { target.copyMemory(from: $0) }
    }
  }

  init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
    self.length = length
    withUnsafeMutableBytes(of: &storage) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(length)))
    }
  }

  var family: Int32 { Int32(storage.ss_family) }

  func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafePointer(to: storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  /// Returns the address that a call such as `getsockname` or `accept4` fills in.
  static func filled(
    by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  )
    -> (result: Int32, address: SocketAddress)
  {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        let result = call($0, &length)
        return (result, SocketAddress(copying: $0, length: min(length, socklen_t(MemoryLayout<sockaddr_storage>.size))))
      }
    }
  }
}

/// Numeric addresses and `localhost` are resolved immediately; other names are resolved on a separate thread, because
/// the system's resolver may block indefinitely.
enum NameResolver {
  struct Failure: Error { let reason: String }

  /// Returns the addresses of a numeric host or `localhost`, or nil for any other name.
  static func known(_ host: String, port: UInt16) -> [SocketAddress]? {
    let hosts = host.lowercased() == "localhost" ? ["127.0.0.1", "::1"] : [host]
    let addresses = hosts.flatMap { (try? lookUp($0, port: port, flags: AI_NUMERICHOST).get()) ?? [] }
    return addresses.isEmpty ? nil : addresses
  }

  static func resolve(
    _ host: String, port: UInt16, on loop: any EventLoop,
    completion: @escaping @Sendable (Result<[SocketAddress], Failure>) -> Void
  ) throws(SystemError) {
    try Worker.start {
      let result = lookUp(host, port: port, flags: 0)
      loop.execute { completion(result) }
    }
  }

  private static func lookUp(_ host: String, port: UInt16, flags: Int32) -> Result<[SocketAddress], Failure> {
    var hints = addrinfo()
    hints.ai_flags = flags | AI_NUMERICSERV
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &list)
    guard code == 0 else { return .failure(Failure(reason: String(cString: gai_strerror(code)))) }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
      if let address = entry.ai_addr { addresses.append(SocketAddress(copying: address, length: entry.ai_addrlen)) }
      next = entry.ai_next
    }
    return .success(addresses)
  }
}
