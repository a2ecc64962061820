import AccessoryCore
import AccessoryProfiles
import LinuxIO

/// One way from an address to a cable, for both roles: the local directory, sockets and terminals, USB.
///
/// A medium is one conformance and one line in a ``MediumTable``; commands, worlds and apps need no change. What a
/// medium cannot do it leaves out: the defaults refuse with a ``TransportError``.
///
/// ```swift
/// struct CarrierPigeonMedium: Medium {
///   var kinds: [Address.Kind] { [.pigeon] }
///   func makeFinder(for address: Address, on loop: any PollingLoop, options: TransportOptions) throws -> any AccessoryFinder {
///     PigeonFinder(address, on: loop)
///   }
/// }
/// ```
public protocol Medium: Sendable {
  /// The kinds of addresses it opens.
  var kinds: [Address.Kind] { get }

  // MARK: For a host

  /// Finds the accessories at an address and connects to them.
  ///
  /// - Throws: ``TransportError`` when no accessory can ever be had there.
  func makeFinder(
    for address: Address, on loop: any PollingLoop, options: TransportOptions
  ) throws
    -> any AccessoryFinder

  /// Lists what is at an address now, without connecting; nil where this needs a connection.
  func look(at address: Address) throws -> Sighting?

  /// Whether serial numbers are known before a connection, as in a local directory.
  var knowsSerialNumbers: Bool { get }

  /// Whether everything that was opened has been given back. A program waits for it before it ends.
  var isIdle: Bool { get }

  // MARK: For a simulated accessory

  /// How many simulated accessories one address takes.
  var capacity: PortCapacity { get }

  /// Opens the place where simulated accessories are plugged in.
  ///
  /// - Throws: an error that names the address.
  func makePortHub(at address: Address, _ context: PortContext) throws -> any PortHub

  /// Whether a device always notices that a cable is pulled, as on USB.
  var noticesPulledCables: Bool { get }
}

extension Medium {
  /// Hosts cannot connect to these addresses.
  public func makeFinder(
    for address: Address, on loop: any PollingLoop, options: TransportOptions
  ) throws
    -> any AccessoryFinder
  {
    throw TransportError.simulatorsOnly(address)
  }

  /// One must connect to know.
  public func look(at address: Address) throws -> Sighting? { nil }

  /// One must connect to know them.
  public var knowsSerialNumbers: Bool { false }

  /// Nothing needs to be given back.
  public var isIdle: Bool { true }

  /// No simulated accessory can appear there.
  public var capacity: PortCapacity { .none }

  /// Simulated accessories cannot appear at these addresses.
  public func makePortHub(at address: Address, _ context: PortContext) throws -> any PortHub {
    throw TransportError.hostsOnly(address)
  }

  /// A cable can be pulled unnoticed.
  public var noticesPulledCables: Bool { false }
}

/// What can be seen at an address without connecting.
public struct Sighting {
  /// The accessories, and devices that are nearly accessories.
  public var accessories: [FoundAccessory]
  /// What could not be read, one sentence each.
  public var problems: [String]
  /// Whether the accessories are remembered from an earlier time, and only a connection shows which of them are there: see
  /// ``RollCall``.
  public var isRemembered: Bool

  /// Creates a sighting.
  public init(accessories: [FoundAccessory], problems: [String] = [], isRemembered: Bool = false) {
    self.accessories = accessories
    self.problems = problems
    self.isRemembered = isRemembered
  }
}

/// Finds the accessories at one address and connects to them, one attempt at a time; a ``Dialer`` decides when.
public protocol AccessoryFinder: AnyObject {
  /// Whether it reports arrivals and departures by itself. Otherwise one must connect to know whether an accessory is
  /// there.
  var seesArrivals: Bool { get }
  /// How long to wait between two attempts.
  var pauses: RedialPauses { get }

  /// Reports what is there before it returns, and every later change.
  func start(_ onEvent: @escaping (AccessoryChange) -> Void) throws

  /// Reports nothing more.
  func stop()

  /// Tries once to open the cable of an accessory that was reported.
  ///
  /// - Parameter completion: called once, in a later turn, unless the attempt is cancelled.
  /// - Throws: the reason, where it is known at once.
  func connect(
    to accessory: FoundAccessory, completion: @escaping (Result<OpenedCable, TransportError>) -> Void
  ) throws(TransportError) -> any Connecting
}

/// The cable of an accessory, with its channel not started.
public struct OpenedCable {
  /// The cable.
  public let cable: Cable
  /// How many bytes of an earlier session were read and dropped.
  public let droppedBytes: Int
  /// Lets another host have the accessory; called when the cable has ended.
  public let release: () -> Void

  /// Creates an opened cable.
  public init(_ cable: Cable, droppedBytes: Int = 0, release: @escaping () -> Void = {}) {
    self.cable = cable
    self.droppedBytes = droppedBytes
    self.release = release
  }
}

/// How many simulated accessories one address takes.
public enum PortCapacity: Sendable {
  /// None: simulated accessories cannot appear there.
  case none
  /// One; others need addresses of their own.
  case one
  /// Any number: a local directory, a bus.
  case many
}

/// What every place for simulated accessories is made with.
public struct PortContext {
  /// The loop that its ports run on.
  public let loop: any PollingLoop
  /// The options of the line.
  public let options: TransportOptions
  /// Receives warnings, in sentences.
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

/// A place where simulated accessories are plugged in: a local directory, a USB/IP bus, a socket.
public protocol PortHub: AnyObject {
  /// Makes the port of one accessory.
  ///
  /// - Parameter number: the number of the accessory in this program, from 1.
  func makePort(for profile: Profile, number: Int) throws -> any Port
}
