import AccessoryCables
import AccessoryCore
import AccessoryProfiles
import AccessoryUSB
import LinuxIO

/// Simulated accessories that appear as USB devices on other machines, over USB/IP.
struct USBIPMedium: Medium {
  let kinds = [Address.Kind.usbip]
  let capacity = PortCapacity.many
  let noticesPulledCables = true

  func look(at address: Address) throws -> Sighting? { throw TransportError.simulatorsOnly(address) }

  func openPorts(at address: Address, _ context: PortContext) throws -> PortFactory {
    guard case .usbip(let host, let port) = address else {
      preconditionFailure("\(address) is not a USB/IP server's address")
    }
    let bus = try USBIPBus(host: host, port: port, on: context.loop, options: context.options, report: context.warn)
    return { profile, _ in bus.makePort(for: profile) }
  }
}

/// A USB bus that other machines can reach, implemented as a USB/IP server. Any number of accessories can be plugged
/// into the bus.
///
/// The server listens for connections until the bus is released. When an accessory is unplugged, the host sees the
/// accessory's device disconnect, and the server no longer lists it. An accessory keeps its bus ID when it is plugged
/// in again.
///
/// ```swift
/// let bus = try USBIPBus(host: "127.0.0.1", port: 3240, on: loop) { print($0) }
/// let accessory = SimulatedAccessory(profile, at: bus.makePort(for: profile), …)
/// ```
final class USBIPBus {
  /// The address on which the server is listening, including the port, even a port that the system chose.
  let address: Address

  private let server: USBIPServer
  private var listener: (any Listener)?

  /// Creates a bus and starts listening immediately.
  ///
  /// - Parameter report: called when a client violates the protocol or is refused.
  init(
    host: String, port: UInt16, on loop: any PollingLoop, options: TransportOptions = TransportOptions(),
    report: @escaping (String) -> Void
  ) throws {
    let server = USBIPServer(on: loop, report: report)
    self.server = server
    let listener = try TCPListener.open(
      host: host, port: port, of: .usbip(host: host, port: port), on: loop, options: options
    ) { event in
      switch event {
      case .accepted(let cable, let peer): server.accept(cable.main, from: peer.description)
      case .refused(let peer, let reason): report("refused \(peer): \(reason)")
      case .cannotAccept(let error): report("cannot accept connections now: \(error)")
      case .ended(let error): report("the USB/IP server has ended: \(error)")
      }
    }
    self.listener = listener
    guard case .tcp(let host, let port) = listener.address else {
      preconditionFailure("a TCP listener has a TCP address")
    }
    address = .usbip(host: host, port: port)
  }

  deinit {
    listener?.close()
    server.close()
  }

  func makePort(for profile: Profile) -> any Port {
    var shape = USBAccessoryShape(profile)
    shape.nativeProtocols = profile.protocols.filter { $0.nativeTransportComponent != nil }.map(\.name)
    return USBIPPort(self, server.makeExport(shape))
  }
}

final class USBIPPort: Port {
  // The bus is retained so that its server exists for as long as an accessory can be plugged in.
  private let bus: USBIPBus
  private let export: USBIPExport

  init(_ bus: USBIPBus, _ export: USBIPExport) {
    self.bus = bus
    self.export = export
  }

  /// The accessory's address, such as "usbip:127.0.0.1:3240, bus id 1-1".
  var place: String { "\(bus.address), bus id \(export.busID)" }

  /// Adds the accessory to the server's list.
  func open(_ onEvent: @escaping (PortEvent) -> Void) throws {
    let place = place
    export.plugIn { cable in onEvent(.cable(cable, from: "a USB host on \(place)")) }
  }

  /// Removes the accessory from the list and disconnects its client.
  func close() {
    export.unplug()
  }
}

extension USBAccessoryShape {
  /// Creates the USB device that a profile describes. Speeds above 480 Mbit/s are not simulated, so a faster accessory
  /// becomes a high-speed device. A port that supports native transports adds them to the device.
  init(_ profile: Profile) {
    self.init(
      manufacturer: profile.usb.manufacturerString ?? profile.identity.manufacturer,
      name: profile.usb.productString ?? profile.identity.name,
      serial: profile.usb.serialString ?? profile.identity.serialNumber)
    vendor = profile.usb.vendor
    product = profile.usb.product
    speed = profile.usb.speed == .full ? .full : .high
  }
}
