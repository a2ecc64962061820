import AccessoryCore

/// Opens stream addresses: unix sockets, TCP, pseudo terminals and serial lines. `MediumTable` in AccessoryCables opens
/// all kinds of addresses, and uses this type for streams.
///
/// ```swift
/// let listener = try Transports.listen(at: address, on: loop) { event in
///   if case .accepted(let cable, let peer) = event { simulator.attach(cable, from: peer) }
/// }
/// ```
///
/// Everything runs on the loop. Callbacks run in a later turn.
public enum Transports {
  /// A cable whose channel has not been started, or the reason why the connection failed.
  public typealias Answer = Result<(cable: Cable, peer: PeerDescription), TransportError>

  /// Listens at `address` for hosts, as an accessory does.
  ///
  /// - Parameter onEvent: called for every host that connects or is refused.
  /// - Throws: ``TransportError``.
  public static func listen(
    at address: Address, on loop: any PollingLoop, options: TransportOptions = TransportOptions(),
    _ onEvent: @escaping (ListenerEvent) -> Void
  ) throws -> any Listener {
    loop.preconditionCurrent()
    switch address {
    case .unix(let path):
      return try UnixListener.open(path: path, on: loop, options: options, onEvent: onEvent)
    case .tcp(let host, let port):
      return try TCPListener.open(
        host: host, port: port, of: address, on: loop, options: options, onEvent: onEvent)
    case .pty(let path):
      return try PtyListener(path: path, on: loop, onEvent: onEvent)
    case .serial(let path, let baud):
      return try SerialListener(path: path, baud: baud, on: loop, onEvent: onEvent)
    case .local, .usb, .usbip, .gadget, .bluetooth: throw TransportError.notAStream(address)
    }
  }

  /// Throws an error if connecting to `address` can never succeed, so that callers do not retry. Temporary failures are
  /// detected only by connecting.
  ///
  /// - Throws: ``TransportError``.
  public static func check(
    _ address: Address, options: TransportOptions = TransportOptions()
  ) throws(TransportError) {
    switch address {
    case .pty, .serial(_, baud: nil): break
    case .serial(_, let baud?):
      try BaudRate.check(baud, at: address)
    default: _ = try destination(address, options: options)
    }
  }

  /// Connects to the accessory at `address`.
  ///
  /// - Parameters:
  ///   - timeout: how long to wait for an answer.
  ///   - completion: called once, with the cable or the error.
  /// - Returns: an object that can cancel the attempt.
  @discardableResult
  public static func connect(
    to address: Address, on loop: any PollingLoop, options: TransportOptions = TransportOptions(),
    timeout: Duration = .seconds(10), completion: @escaping (Answer) -> Void
  ) -> any Connecting {
    loop.preconditionCurrent()
    do throws(TransportError) {
      let cable: Cable
      switch address {
      case .unix, .tcp:
        return SocketConnector(
          to: try destination(address, options: options), address: address, on: loop, options: options,
          timeout: timeout, completion: completion)
      case .pty(let path):
        // The terminal may now belong to another program.
        if TerminalLink(path: path).isStale { throw .nobodyThere(address, "the program that created the link is gone") }
        let terminal = try RawTerminal.open(path, baud: nil, at: address)
        cable = Cable(
          main: DescriptorChannel(taking: terminal.release(), as: .terminal(hangUp: .closedByPeer), on: loop))
      case .serial(let path, let baud):
        cable = Cable(main: try SerialLine.open(path: path, baud: baud, on: loop)).dedicated
      case .local, .usb, .usbip, .gadget, .bluetooth: throw .notAStream(address)
      }
      return DelayedAnswer(
        .success((cable, PeerDescription(address: address))), on: loop, completion: completion)
    } catch {
      return DelayedAnswer(.failure(error), on: loop, completion: completion)
    }
  }

  /// Connects to the socket of an accessory that has another address, which errors then name.
  package static func connect(
    toSocketAt path: String, of address: Address, on loop: any PollingLoop, options: TransportOptions,
    timeout: Duration, completion: @escaping (Answer) -> Void
  ) throws(TransportError) -> any Connecting {
    SocketConnector(
      to: try destination(.unix(path: path), options: options), address: address, on: loop, options: options,
      timeout: timeout, completion: completion)
  }

  /// Returns true if a host, given as a numeric address or as `localhost`, is this machine. Host names that must be
  /// looked up count as other machines.
  package static func isThisMachine(_ host: String) -> Bool {
    NameResolver.known(host, port: 0)?.allSatisfy(\.isLoopback) ?? false
  }

  private static func destination(
    _ address: Address, options: TransportOptions
  ) throws(TransportError) -> SocketConnector.Destination {
    switch address {
    case .unix(let path):
      guard let name = SocketAddress(unixPath: path) else {
        throw .unusable(address, "a socket path has at most \(Address.longestUnixPath) bytes")
      }
      return .known([name])
    case .tcp(_, 0):
      throw .unusable(
        address, "port 0 means any free port, and only a listener can use it; connect to the port that it reports")
    case .tcp(let host, let port):
      guard options.allowsRemote || isThisMachine(host) else { throw .remoteNotAllowed(address) }
      return NameResolver.known(host, port: port).map { .known($0) } ?? .name(host, port: port)
    case .local, .pty, .serial, .usb, .usbip, .gadget, .bluetooth: throw .notAStream(address)
    }
  }
}

/// A result that is known immediately, but is delivered in a later turn like all other results.
final class DelayedAnswer: Connecting {
  private var cable: Cable?
  private var timer: LoopTimer?

  init(_ answer: Transports.Answer, on loop: any EventLoop, completion: @escaping (Transports.Answer) -> Void) {
    cable = try? answer.get().cable
    timer = loop.schedule(after: .zero) {
      self.cable = nil
      self.timer = nil
      completion(answer)
    }
  }

  func cancel() {
    timer?.cancel()
    timer = nil
    cable?.main.close()
    cable = nil
  }
}

/// Listens at an address for the other end of a cable.
public protocol Listener: AnyObject {
  /// The address on which the listener accepts hosts, including anything that the system chose, such as the port of
  /// `tcp:HOST:0`.
  var address: Address { get }

  /// Stops listening. Hosts that are not connected yet see the accessory as unplugged. Accepted cables continue.
  /// Further calls to `close` have no effect.
  func close()
}

/// An event that a listener reports.
public enum ListenerEvent {
  /// A host connected over this cable, whose channel has not been started.
  case accepted(Cable, PeerDescription)
  case refused(PeerDescription, reason: String)
  /// The listener cannot accept connections now, because the process has no free descriptors. The listener will try
  /// again.
  case cannotAccept(SystemError)
  /// The listener ended because its terminal no longer exists.
  case ended(TransportError)
}

/// An attempt to connect.
public protocol Connecting: AnyObject {
  /// Cancels the attempt without calling its completion.
  func cancel()
}

/// A description of the other end of a cable, as far as the medium identifies it.
public struct PeerDescription: Equatable, Sendable, CustomStringConvertible {
  /// The other end's address, or the address that both ends share.
  public let address: Address
  /// The process at the other end, if the kernel reports it, as it does for unix sockets.
  public let process: PeerProcess?

  /// Creates a description.
  public init(address: Address, process: PeerProcess? = nil) {
    self.address = address
    self.process = process
  }

  /// Text such as "process 1234 of user 1000 on unix:/tmp/a.sock", or only the address.
  public var description: String { process.map { "\($0) on \(address)" } ?? "\(address)" }
}

/// A process on this machine.
public struct PeerProcess: Equatable, Sendable, CustomStringConvertible {
  /// The process ID at the time of the connection.
  public let pid: Int32
  /// The effective user of the process.
  public let user: UInt32

  /// Creates a description of a process.
  public init(pid: Int32, user: UInt32) {
    self.pid = pid
    self.user = user
  }

  /// Text such as "process 1234 of user 1000".
  public var description: String { "process \(pid) of user \(user)" }
}

/// Options for sockets.
public struct TransportOptions: Equatable, Sendable {
  /// Whether TCP may connect to, or accept connections from, other machines.
  public var allowsRemote = false
  /// Whether the other end of a socket on this machine may belong to users other than root and this process's own.
  public var allowsOtherUsers = false
  /// Whether a unix listener locks its path with a lock file. Listeners whose paths are never reused, such as those in
  /// a local directory, need no lock.
  package var locksUnixPath = true

  /// Creates the default options, which allow only this machine and this user.
  public init() {}
}
