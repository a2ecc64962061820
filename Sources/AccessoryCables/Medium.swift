import AccessoryCore
import AccessoryProfiles
import LinuxIO

/// A medium, such as USB or a local directory. Defines which kinds of addresses the medium covers and how to open them.
///
/// To add a medium, write a type that conforms to this protocol and add it to a ``MediumTable``. Commands, worlds and
/// apps need no changes. A medium needs to implement only what it supports. By default, methods that open something
/// throw a ``TransportError``.
///
/// ```swift
/// struct CarrierPigeonMedium: Medium {
///   var kinds: [Address.Kind] { [.pigeon] }
///   func makeFinder(
///     for address: Address, on loop: any PollingLoop, options: TransportOptions
///   ) throws -> any AccessoryFinder {
///     PigeonFinder(address, on: loop)
///   }
/// }
/// ```
public protocol Medium: Sendable {
  /// The kinds of addresses that this medium can open.
  var kinds: [Address.Kind] { get }

  // MARK: For a host

  /// Creates a finder for the accessories at an address.
  ///
  /// - Throws: ``TransportError`` if an accessory can never appear at this address.
  func makeFinder(
    for address: Address, on loop: any PollingLoop, options: TransportOptions
  ) throws
    -> any AccessoryFinder

  /// Lists the accessories that are currently at an address, without connecting to them. Returns nil if the medium
  /// cannot list accessories.
  func look(at address: Address) throws -> Sighting?

  /// Whether serial numbers are known before a connection is made, as they are in a local directory.
  var knowsSerialNumbers: Bool { get }

  /// Whether everything that was opened has been released. Before they exit, programs wait until this value is true.
  var isIdle: Bool { get }

  // MARK: Simulated accessories

  /// How many simulated accessories can share one address.
  var capacity: PortCapacity { get }

  /// Opens an address where simulated accessories can be plugged in.
  ///
  /// - Throws: An error that names the address.
  func openPorts(at address: Address, _ context: PortContext) throws -> PortFactory

  /// Whether a device on this medium always notices when a cable is unplugged, as it does on USB.
  var noticesPulledCables: Bool { get }
}

extension Medium {
  /// By default, hosts cannot connect through a medium, so this method throws.
  public func makeFinder(
    for address: Address, on loop: any PollingLoop, options: TransportOptions
  ) throws
    -> any AccessoryFinder
  {
    throw TransportError.simulatorsOnly(address)
  }

  /// The default implementation returns nil, because only a connection shows whether there is an accessory.
  public func look(at address: Address) throws -> Sighting? { nil }

  /// The default is false, because only a connection shows the serial numbers.
  public var knowsSerialNumbers: Bool { false }

  /// The default is true, because there is nothing to release.
  public var isIdle: Bool { true }

  /// By default, a medium has no room for simulated accessories.
  public var capacity: PortCapacity { .none }

  /// By default, a medium has no room for simulated accessories, so this method throws.
  public func openPorts(at address: Address, _ context: PortContext) throws -> PortFactory {
    throw TransportError.hostsOnly(address)
  }

  /// The default is false, because a device may not notice that a cable is unplugged.
  public var noticesPulledCables: Bool { false }
}

/// What is visible at an address before a connection is made.
public struct Sighting {
  /// The accessories, including devices that only resemble accessories.
  public var accessories: [FoundAccessory]
  /// Sentences that describe what could not be read.
  public var problems: [String]
  /// Whether the accessories are only remembered from earlier connections. Only a new connection shows which of the
  /// remembered accessories are present.
  public var isRemembered: Bool

  /// Creates a sighting.
  public init(accessories: [FoundAccessory], problems: [String] = [], isRemembered: Bool = false) {
    self.accessories = accessories
    self.problems = problems
    self.isRemembered = isRemembered
  }
}

/// Finds the accessories at one address and connects to them when a ``Dialer`` requests a connection.
public protocol AccessoryFinder: AnyObject {
  /// Whether the finder reports arrivals and departures. If it does not, only a connection shows whether an accessory
  /// is present.
  var seesArrivals: Bool { get }
  /// How long to wait between two attempts to connect.
  var pauses: RedialPauses { get }

  /// Reports the accessories that are present before this call returns, and reports every change after that.
  func start(_ onEvent: @escaping (AccessoryChange) -> Void) throws

  /// Stops reporting.
  func stop()

  /// Makes one attempt to open the cable of an accessory that was reported.
  ///
  /// - Parameter completion: called once, in a later turn of the loop, unless the attempt is cancelled.
  /// - Throws: The reason for the failure, if it is known immediately.
  func connect(
    to accessory: FoundAccessory, completion: @escaping (Result<OpenedCable, TransportError>) -> Void
  ) throws(TransportError) -> any Connecting
}

/// A cable to an accessory. The cable's channel has not been started yet.
public struct OpenedCable {
  /// The cable.
  public let cable: Cable
  /// The number of bytes from an earlier session that were read and dropped.
  public let droppedBytes: Int
  /// Releases the accessory so that other hosts can use it. Called when the cable has ended.
  public let release: () -> Void

  /// Creates an opened cable.
  public init(_ cable: Cable, droppedBytes: Int = 0, release: @escaping () -> Void = {}) {
    self.cable = cable
    self.droppedBytes = droppedBytes
    self.release = release
  }
}

/// How many simulated accessories can share one address.
public enum PortCapacity: Sendable {
  case none
  case one
  case many
}

/// What a medium needs to create ports for simulated accessories.
public struct PortContext {
  /// The event loop for the ports.
  public let loop: any PollingLoop
  /// Options from the command line.
  public let options: TransportOptions
  /// Receives warnings as sentences.
  public let warn: (String) -> Void

  /// Creates a context.
  public init(
    on loop: any PollingLoop, options: TransportOptions = TransportOptions(),
    warn: @escaping (String) -> Void = { _ in }
  ) {
    self.loop = loop
    self.options = options
    self.warn = warn
  }
}

/// Creates the port for one accessory at an address that has been opened, such as a local directory, a USB/IP bus, or a
/// socket. `number` is the accessory's 1-based number in this program.
public typealias PortFactory = (_ profile: Profile, _ number: Int) throws -> any Port

/// What a medium reveals about an accessory before a connection is made.
///
/// The medium's information is only a hint. The iAP2 identification is authoritative.
public struct FoundAccessory: Equatable, Sendable {
  /// A key that is unique to one attachment of an accessory.
  public var key: String
  /// An identity that all attachments of an accessory share: the serial number in a local directory, or the USB port.
  public var identity: String
  /// The address that selects this accessory.
  public var address: Address
  /// The name shown to users, or an empty string if the medium does not know the name.
  public var name = ""
  /// The manufacturer.
  public var manufacturer: String?
  /// The model or, on USB, the vendor and product IDs, such as `1209:0001`.
  public var model: String?
  /// The serial number.
  public var serial: String?
  /// The protocols that the accessory currently offers, or nil if the medium does not show protocols.
  public var protocols: [String]?
  /// The accessory's card, if it is in a local directory.
  public var card: LocalCard?
  /// Why the accessory cannot be used at the moment, or nil if it can be used.
  public var trouble: TransportError?

  /// Creates an accessory that is known only by its address.
  public init(key: String, identity: String, address: Address) {
    self.key = key
    self.identity = identity
    self.address = address
  }

  /// Whether the device merely resembles an accessory and cannot be used until something about it changes.
  public var isNearMiss: Bool { trouble.map { !$0.mayPass } ?? false }

  /// Returns true if the accessory might offer a protocol. An accessory that shows no protocols might offer any
  /// protocol, because it may be in the first half of a flicker.
  public func mayOffer(_ protocolName: String) -> Bool {
    protocols.map { $0.isEmpty || $0.contains(protocolName) } ?? true
  }
}

/// A change at an address, such as an arrival.
public enum AccessoryChange: Equatable, Sendable {
  case arrived(FoundAccessory)
  /// The information that the medium shows about an accessory has changed. `from` is the previous information.
  case changed(FoundAccessory, from: FoundAccessory)
  case left(FoundAccessory, reason: String)
  /// An accessory appeared and then disappeared before its information could be read. The value describes an earlier
  /// attachment of the accessory, if there was one.
  case passed(FoundAccessory?)
  case warning(String)

  var accessory: FoundAccessory? {
    switch self {
    case .arrived(let accessory), .changed(let accessory, _), .left(let accessory, _): accessory
    case .passed(let accessory): accessory
    case .warning: nil
    }
  }
}

extension Address {
  /// A description of the address for messages, for example "the local directory /run/user/1000/easim", "USB" or
  /// "unix:/tmp/a.sock".
  public var place: String {
    switch self {
    case .local(let directory, let serial):
      "the local directory \(LocalDirectory(directory))" + (serial.map { ", serial number \($0)" } ?? "")
    case .usb(.any): "USB"
    default: description
    }
  }

  /// Whether the address names a single accessory rather than a place where there may be several.
  public var namesOneAccessory: Bool {
    if case .local(_, serial: .some) = self { true } else { false }
  }

  /// The message for an address without an accessory, for example "No Accessories Connected on USB".
  public var nothingThere: String {
    switch self {
    case .local(let directory, let serial?):
      "no accessory \(serial) in the local directory \(LocalDirectory(directory))"
    case .local(_, nil), .usb(.any): "No Accessories Connected in \(place)"
    default: "no accessory at \(self)"
    }
  }
}
