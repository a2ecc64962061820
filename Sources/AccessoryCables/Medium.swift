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
