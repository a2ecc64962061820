import AccessoryCore

/// The front door: an address in, cables out.
///
/// ```swift
/// let listener = try Transports.listen(at: Address(parsing: "unix:/tmp/glasses.sock"), on: loop) { event in
///   if case .accepted(let cable, let peer) = event { simulator.attach(cable, from: peer) }
/// }
/// ```
///
/// Everything is on the loop, and every callback comes in a later turn.
public enum Transports {
  /// Waits at `address` for the other end of a cable, which is what an accessory that is plugged in does.
  ///
  /// - Throws: ``TransportError``.
  public static func listen(
    at address: Address, on loop: any PollingLoop, options: TransportOptions = TransportOptions(),
    _ hear: @escaping (ListenerEvent) -> Void
  ) throws -> any Listener {
    loop.preconditionCurrent()
    switch address {
    case .unix(let path): return try UnixListener.open(path: path, on: loop, options: options, hear: hear)
    case .tcp, .pty, .serial, .bench, .usb, .usbip, .gadget: throw TransportError.notAStream(address)
    }
  }

  /// Connects to the accessory at `address`.
  ///
  /// - Parameters:
  ///   - timeout: how long to wait for an answer.
  ///   - completion: called once with the cable, whose channel is not started, or with what went wrong.
  /// - Returns: what can cancel it.
  @discardableResult
  public static func connect(
    to address: Address, on loop: any PollingLoop, options: TransportOptions = TransportOptions(),
    timeout: Duration = .seconds(10),
    completion: @escaping (Result<(cable: Cable, peer: PeerDescription), TransportError>) -> Void
  ) -> any Connecting {
    loop.preconditionCurrent()
    switch address {
    case .unix(let path):
      guard let name = SocketAddress(unixPath: path) else {
        let reason = "a socket path has at most \(Address.longestUnixPath) bytes"
        return DelayedAnswer(.failure(.unusable(address, reason)), on: loop, completion: completion)
      }
      return SocketConnector(
        to: [name], address: address, on: loop, options: options, timeout: timeout, completion: completion)
    case .tcp, .pty, .serial, .bench, .usb, .usbip, .gadget:
      return DelayedAnswer(.failure(.notAStream(address)), on: loop, completion: completion)
    }
  }
}

/// An answer that is known at once and still comes in a later turn, as all others do.
final class DelayedAnswer: Connecting {
  private let timer: LoopTimer

  init(
    _ answer: Result<(cable: Cable, peer: PeerDescription), TransportError>, on loop: any EventLoop,
    completion: @escaping (Result<(cable: Cable, peer: PeerDescription), TransportError>) -> Void
  ) {
    timer = loop.schedule(after: .zero) { completion(answer) }
  }

  func cancel() { timer.cancel() }
}
