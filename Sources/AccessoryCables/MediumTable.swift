// swift-format-ignore-file: AlwaysUseLowerCamelCase
import AccessoryCore
import AccessoryProfiles
import LinuxIO

// These functions are declared by hand, like those in LinuxIO/LinuxCalls.swift.
@_extern(c) private func clinux_add_hardware_media(_ table: UnsafeMutableRawPointer?)

/// The media that a program can use, keyed by the kinds of addresses that they cover.
///
/// ```swift
/// let media = MediumTable.linked
/// let dialer = try media.makeDialer(to: Address(parsing: "usb:"), for: device, on: loop)
/// try dialer.start()
/// ```
public struct MediumTable: Sendable {
  private var media: [Address.Kind: any Medium] = [:]

  /// Creates a table of these media.
  public init(_ media: [any Medium] = []) {
    for medium in media { add(medium) }
  }

  /// Adds a medium, replacing any other medium for the same kinds of addresses.
  public mutating func add(_ medium: any Medium) {
    for kind in medium.kinds { media[kind] = medium }
  }

  /// The media that need only the kernel: the local directory, sockets and terminals.
  public static let standard = MediumTable([LocalMedium(), StreamMedium()])

  /// The standard media, plus the media of every optional product linked into this program.
  ///
  /// A product adds its media by defining a C function. See `AccessoryHardware`. To add USB, an app needs only one more
  /// line in its Package.swift and no changes to its sources.
  public static let linked: MediumTable = {
    var table = standard
    withUnsafeMutablePointer(to: &table) { clinux_add_hardware_media($0) }
    return table
  }()

  /// The medium that opens an address.
  public subscript(address: Address) -> any Medium {
    get throws(TransportError) {
      guard let medium = media[address.kind] else { throw .noMedium(address) }
      return medium
    }
  }

  // MARK: For a host

  /// Creates a dialer without starting it.
  ///
  /// - Parameters:
  ///   - owner: takes the cables.
  ///   - wanted: the accessories at the address to connect to.
  ///   - wrap: adds transcripts and faults to each cable.
  /// - Throws: An error that names the address, if no accessory can ever appear there.
  public func makeDialer(
    to address: Address, for owner: any CableOwner, on loop: any PollingLoop,
    options: TransportOptions = TransportOptions(), wanted: Dialer.Wanted = .every,
    wrap: @escaping (Cable) -> Cable = { $0 }
  ) throws -> Dialer {
    let finder = try self[address].makeFinder(for: address, on: loop, options: options)
    return Dialer(finder, for: owner, on: loop, wanted: wanted, wrap: wrap)
  }

  /// Lists the accessories that are currently at an address, without connecting to them. Returns nil if the medium
  /// cannot list accessories.
  public func look(at address: Address) throws -> Sighting? {
    try self[address].look(at: address)
  }

  /// Whether everything that the media opened has been released. Before exiting, programs run their loops until this
  /// value is true.
  public var isIdle: Bool { media.values.allSatisfy(\.isIdle) }
}

/// Creates the ports for a program's simulated accessories. A resource that several ports share, such as a local
/// directory or a bus, is opened only once.
public final class PortMaker {
  private let media: MediumTable
  private let context: PortContext
  private var factories: [Address: PortFactory] = [:]

  /// Creates a port maker that has not opened anything yet.
  public init(_ media: MediumTable, _ context: PortContext) {
    self.media = media
    self.context = context
  }

  /// Creates the port for the accessory with this 1-based number.
  ///
  /// - Throws: An error that names the address.
  public func makePort(at address: Address, for profile: Profile, number: Int = 1) throws -> any Port {
    let makePort = try factories[address] ?? media[address].openPorts(at: address, context)
    factories[address] = makePort
    return try makePort(profile, number)
  }
}
