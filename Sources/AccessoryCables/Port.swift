import AccessoryCore
import AccessoryProfiles
import LinuxIO

/// Where a simulated accessory is plugged in: an address that it listens on, or one end of a cable in memory.
///
/// Opening a port plugs the accessory in, and closing it unplugs it. Each device that connects brings a cable.
public protocol Port: AnyObject {
  /// The place, for messages.
  var place: String { get }

  /// Publishes what the accessory looks like from now on: called before it is plugged in, and whenever it changes. A
  /// port without a place to publish it does nothing.
  func show(_ appearance: PortAppearance)

  /// Plugs the accessory in. `onEvent` is called in a later turn for every device that connects.
  func open(_ onEvent: @escaping (PortEvent) -> Void) throws

  /// Unplugs the accessory: no device can connect any more. The owner of the cable in use closes it.
  func close()
}

extension Port {
  /// Shows it nowhere.
  public func show(_ appearance: PortAppearance) {}
}

/// What hosts can see of an accessory without taking its cable.
public struct PortAppearance: Equatable, Sendable {
  /// The name that users see.
  public var name: String
  /// The serial number.
  public var serial: String
  /// The manufacturer.
  public var manufacturer: String
  /// The model number.
  public var model: String
  /// The protocols that the accessory offers now.
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

/// What a port reports.
public enum PortEvent {
  /// A device connected; the value is its cable.
  case cable(Cable, from: String)
  /// A problem that does not stop the port.
  case warning(String)
  /// The port ended by itself.
  case ended(String)
}

extension PortEvent {
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
/// If the system chooses a port number (`tcp:127.0.0.1:0`), the first choice is kept, so that an accessory has the same
/// address after a flicker.
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

  /// The address, including anything the system chose once it was open.
  public var place: String { address.description }

  /// Listens.
  public func open(_ onEvent: @escaping (PortEvent) -> Void) throws {
    let listener = try Transports.listen(at: address, on: loop, options: options) { event in
      onEvent(PortEvent(event))
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
