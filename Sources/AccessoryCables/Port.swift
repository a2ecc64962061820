import AccessoryCore
import AccessoryProfiles
import AccessoryTransports

/// Where an accessory can be plugged in: an address that it listens on, or one end of a cable in memory.
///
/// Opening a port is plugging in, and closing it is unplugging; a device at the other end is a cable.
public protocol Port: AnyObject {
  /// Where it is, for people.
  var place: String { get }

  /// What the accessory looks like from now on: told before it is plugged in, and whenever it changes while it is. A
  /// port that has nowhere to show it does nothing.
  func show(_ appearance: PortAppearance)

  /// Plugs in. `hear` is told of every device that comes, in a later turn.
  func open(_ hear: @escaping (PortEvent) -> Void) throws

  /// Unplugs: nobody can come any more. The cable that is in use is closed by whoever uses it.
  func close()
}

extension Port {
  /// Shows it nowhere.
  public func show(_ appearance: PortAppearance) {}
}

/// What can be known of an accessory without taking its cable, where a port has a place to show it.
public struct PortAppearance: Equatable, Sendable {
  /// The name people see.
  public var name: String
  /// The serial number.
  public var serial: String
  /// The manufacturer.
  public var manufacturer: String
  /// The model number.
  public var model: String
  /// The protocols it offers now.
  public var protocols: [String]

  /// What a profile shows while it offers these protocols.
  public init(_ profile: Profile, offering protocols: [String]) {
    name = profile.identity.name
    serial = profile.identity.serialNumber
    manufacturer = profile.identity.manufacturer
    model = profile.identity.modelNumber
    self.protocols = protocols
  }
}

/// What a port has to tell.
public enum PortEvent {
  /// A device is at the other end of this cable.
  case cable(Cable, from: String)
  /// Something that does not keep the port from working.
  case warning(String)
  /// The port is over without having been closed.
  case ended(String)
}

extension PortEvent {
  init(_ event: ListenerEvent) {
    switch event {
    case .accepted(let cable, let peer): self = .cable(cable, from: peer.description)
    case .refused(let peer, let reason): self = .warning("\(peer) was turned away: \(reason)")
    case .cannotAccept(let error): self = .warning("nobody can be accepted now: \(error)")
    case .ended(let error): self = .ended(error.description)
    }
  }
}

/// A port at an address that devices connect to.
///
/// Where the system chooses (the port of `tcp:127.0.0.1:0`), its first choice is kept: an accessory that detaches and
/// attaches again, as in a flicker, is found where it was.
public final class ListeningPort: Port {
  private var address: Address
  private let loop: any PollingLoop
  private let options: TransportOptions
  private var listener: (any Listener)?

  /// A port at `address`.
  public init(at address: Address, on loop: any PollingLoop, options: TransportOptions = TransportOptions()) {
    self.address = address
    self.loop = loop
    self.options = options
  }

  /// The address, with what the system chose filled in once it was open.
  public var place: String { address.description }

  /// Listens.
  public func open(_ hear: @escaping (PortEvent) -> Void) throws {
    let listener = try Transports.listen(at: address, on: loop, options: options) { event in
      hear(PortEvent(event))
    }
    address = listener.address
    self.listener = listener
  }

  /// Stops listening.
  public func close() {
    listener?.close()
    listener = nil
  }
}
