import AccessoryCore
import AccessoryProfiles
import LinuxIO

/// Where a simulated accessory is plugged in: an address, or one end of an in-memory cable.
///
/// Opening the port plugs the accessory in, and closing the port unplugs it. Each device that connects gets its own
/// cable.
public protocol Port: AnyObject {
  /// The port's name in messages, such as an address.
  var place: String { get }

  /// Publishes the information that hosts can see before they connect, if the port can publish any. The port's owner
  /// calls this method before the accessory is plugged in and again whenever this information changes.
  func show(_ appearance: PortAppearance)

  /// Plugs in the accessory. `onEvent` is called for every device that connects, in a later turn of the loop.
  func open(_ onEvent: @escaping (PortEvent) -> Void) throws

  /// Unplugs the accessory, so that no more devices can connect. Cables that are in use must be closed by their owners.
  func close()
}

extension Port {
  /// The default implementation does nothing.
  public func show(_ appearance: PortAppearance) {}
}

/// The information about an accessory that hosts can see without claiming its cable.
public struct PortAppearance: Equatable, Sendable {
  /// The name shown to users.
  public var name: String
  /// The serial number.
  public var serial: String
  /// The manufacturer.
  public var manufacturer: String
  /// The model number.
  public var model: String
  /// The protocols that the accessory currently offers.
  public var protocols: [String]

  /// Creates an appearance.
  public init(
    name: String = "", serial: String = "", manufacturer: String = "", model: String = "", protocols: [String] = []
  ) {
    (self.name, self.serial, self.manufacturer) = (name, serial, manufacturer)
    (self.model, self.protocols) = (model, protocols)
  }

  /// Creates the appearance of an accessory that has this profile and currently offers `protocols`.
  public init(_ profile: Profile, offering protocols: [String]) {
    let identity = profile.identity
    self.init(
      name: identity.name, serial: identity.serialNumber, manufacturer: identity.manufacturer,
      model: identity.modelNumber, protocols: protocols)
  }
}

/// A report from a port.
public enum PortEvent {
  case cable(Cable, from: String)
  case warning(String)
  case ended(String)

  init(_ event: ListenerEvent) {
    switch event {
    case .accepted(let cable, let peer): self = .cable(cable, from: peer.description)
    case .refused(let peer, let reason): self = .warning("refused \(peer): \(reason)")
    case .cannotAccept(let error): self = .warning("cannot accept connections now: \(error)")
    case .ended(let error): self = .ended(error.description)
    }
  }
}

/// A port at an address that devices connect to.
///
/// If the system chooses the TCP port number (as for `tcp:127.0.0.1:0`), the port keeps the first number that it was
/// given, so the accessory reappears at the same address.
final class ListeningPort: Port {
  private var address: Address
  private let loop: any PollingLoop
  private let options: TransportOptions
  private var listener: (any Listener)?

  init(at address: Address, on loop: any PollingLoop, options: TransportOptions) {
    self.address = address
    self.loop = loop
    self.options = options
  }

  /// The address, including the TCP port number if the system chose one.
  var place: String { address.description }

  func open(_ onEvent: @escaping (PortEvent) -> Void) throws {
    let listener = try Transports.listen(at: address, on: loop, options: options) { event in
      onEvent(PortEvent(event))
    }
    address = listener.address
    self.listener = listener
  }

  func close() {
    listener?.close()
    listener = nil
  }
}
