import AccessoryCore

/// Listens at an address for the other end of a cable.
public protocol Listener: AnyObject {
  /// Where it listens, with what the system chose filled in (the port for `tcp:HOST:0`).
  var address: Address { get }

  /// Stops listening: hosts that are not connected yet see the accessory unplugged. Accepted cables continue. Closing
  /// twice does nothing.
  func close()
}

/// What a listener reports.
public enum ListenerEvent {
  /// A host connected. The cable's channel is not started.
  case accepted(Cable, PeerDescription)
  /// A host was refused, with the reason.
  case refused(PeerDescription, reason: String)
  /// The listener cannot accept connections now and tries again: the process has no descriptors left.
  case cannotAccept(SystemError)
  /// The listener ended by itself: its terminal is gone.
  case ended(TransportError)
}

/// An attempt to connect.
public protocol Connecting: AnyObject {
  /// Cancels the attempt; its completion is not called.
  func cancel()
}

/// The other end of a cable, as far as the medium identifies it.
public struct PeerDescription: Equatable, Sendable, CustomStringConvertible {
  /// The address of the other end, or of the place where both ends meet.
  public let address: Address
  /// The process at the other end, where the kernel reports it (unix sockets).
  public let process: PeerProcess?

  /// Makes a description.
  public init(address: Address, process: PeerProcess? = nil) {
    self.address = address
    self.process = process
  }

  /// "process 1234 of user 1000 on unix:/tmp/a.sock", or the address alone.
  public var description: String { process.map { "\($0) on \(address)" } ?? "\(address)" }
}

/// A process on this machine.
public struct PeerProcess: Equatable, Sendable, CustomStringConvertible {
  /// The process id when it connected.
  public let pid: Int32
  /// Its effective user.
  public let user: UInt32

  /// Makes a description of a process.
  public init(pid: Int32, user: UInt32) {
    self.pid = pid
    self.user = user
  }

  /// "process 1234 of user 1000".
  public var description: String { "process \(pid) of user \(user)" }
}

/// The options of sockets.
public struct TransportOptions: Equatable, Sendable {
  /// Whether TCP may reach beyond this machine.
  public var allowsRemote = false
  /// Whether the other end of a socket on this machine may belong to other users than this process's own and root.
  public var allowsOtherUsers = false
  /// Whether a unix listener locks its path by a file beside it. Not needed where no path is used twice, as on a bench.
  package var locksUnixPath = true
  /// The size of a socket's buffers in bytes; the system's default when nil.
  public var socketBuffers: Int?

  /// The defaults: this machine and this user only.
  public init() {}
}
