import AccessoryCore
import Glibc

/// Connects a stream socket: looks up the name if needed, tries each address in turn, never blocks, and reports once.
final class SocketConnector: Connecting, DescriptorHandler {
  typealias Completion = (Transports.Answer) -> Void

  /// How long to wait when a unix listener's backlog is full; the kernel does not report when it has room again.
  private static let retryPause = Duration.milliseconds(10)

  /// Where to connect to.
  enum Destination {
    case known([SocketAddress])
    case name(String, port: UInt16)
  }

  private enum State {
    /// About to try the first of the addresses that are left, once they are known.
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
  /// The timer holds the connector and the connector the timer, so it is released when it fires.
  private var attempt: LoopTimer?
  private var limit: LoopTimer?

  /// Begins; the completion comes in a later turn.
  init(
    to destination: Destination, address: Address, on loop: any PollingLoop, options: TransportOptions,
    timeout: Duration, completion: @escaping Completion
  ) {
    self.address = address
    self.loop = loop
    self.options = options
    self.timeout = timeout
    self.completion = completion
    // The timer, the look-up and the watch keep the connector alive.
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
    SocketOptions.apply(options, to: socket)
    let peer = PeerDescription(address: address, process: PeerProcess(ofUnixSocket: socket))
    // The kernel knows the user of a unix listener. That of a TCP listener is known only after it has accepted.
    if case .unix = address, !options.allowsOtherUsers, let reason = TrustedUsers().refusal(ofServer: peer.process) {
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
