import AccessoryCore

/// What is held by whoever waits on an address for the other end of a cable.
public protocol Listener: AnyObject {
  /// Where it listens, with what the system chose filled in (the port for `tcp:HOST:0`).
  var address: Address { get }

  /// Stops listening: the accessory is unplugged for everybody who is not connected yet. Cables that were accepted go
  /// on. Closing twice does nothing.
  func close()
}

/// What a listener has to tell.
public enum ListenerEvent {
  /// Somebody plugged in. The cable's channel is not started.
  case accepted(Cable, PeerDescription)
  /// Somebody was turned away, and why.
  case refused(PeerDescription, reason: String)
  /// The listener cannot accept now and tries again: the process has no descriptors left.
  case cannotAccept(SystemError)
  /// The listener is over without having been closed: the terminal it stands on is gone.
  case ended(TransportError)
}

/// A connection in the making.
public protocol Connecting: AnyObject {
  /// Gives up; the completion is not called any more.
  func cancel()
}

/// Who is at the other end of a cable, as far as the medium tells.
public struct PeerDescription: Equatable, Sendable, CustomStringConvertible {
  /// Where the other end is, or where both ends meet.
  public let address: Address
  /// The process at the other end, where the system vouches for it (unix sockets).
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

/// What may differ between one use of a transport and another.
public struct TransportOptions: Equatable, Sendable {
  /// Whether TCP may leave this machine.
  public var allowsRemote = false
  /// Whether a unix listener takes users other than its own and root.
  public var allowsOtherUsers = false
  /// The size of a socket's buffers in bytes; the system's choice when nil.
  public var socketBuffers: Int?

  /// The safe choices.
  public init() {}
}
