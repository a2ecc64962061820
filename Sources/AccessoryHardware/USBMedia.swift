import AccessoryCables
import AccessoryCore
import AccessoryProfiles
import AccessoryUSB
import LinuxIO

struct USBMedium: Medium {
  let kinds = [Address.Kind.usb]
  let noticesPulledCables = true

  func makeFinder(for address: Address, on loop: any PollingLoop, options: TransportOptions) -> any AccessoryFinder {
    USBFinder(Self.selector(address), on: loop)
  }

  func look(at address: Address) throws -> Sighting? {
    let selector = Self.selector(address)
    return Sighting(
      accessories: try USBDevices.look().filter { $0.isMeant(by: selector) }.map { FoundAccessory($0) })
  }

  var isIdle: Bool { USBHost.isIdle }

  private static func selector(_ address: Address) -> Address.USBSelector {
    guard case .usb(let selector) = address else { preconditionFailure("\(address) is not on USB") }
    return selector
  }
}

private final class USBFinder: AccessoryFinder {
  let seesArrivals = true
  // Opening a device is retried because no event tells when another program releases the device or when access is
  // granted.
  let pauses = RedialPauses(shortest: .milliseconds(500), longest: .milliseconds(500))

  private let selector: Address.USBSelector
  private let loop: any PollingLoop
  private var devices: USBDevices?
  private var known: [String: USBAccessory] = [:]

  init(_ selector: Address.USBSelector, on loop: any PollingLoop) {
    self.selector = selector
    self.loop = loop
  }

  func start(_ onEvent: @escaping (AccessoryChange) -> Void) throws {
    let devices = USBDevices(on: loop) { [unowned self] change in
      if let change = note(change) { onEvent(change) }
    }
    self.devices = devices
    try devices.start()
  }

  func stop() { devices?.stop() }

  private func note(_ change: USBDevices.Change) -> AccessoryChange? {
    switch change {
    case .arrived(let it):
      guard it.isMeant(by: selector) else { return nil }
      known[it.path] = it
      return .arrived(FoundAccessory(it))
    case .changed(let it, let before):
      let wasMeant = known[it.path] != nil
      guard wasMeant || it.isMeant(by: selector) else { return nil }
      known[it.path] = it
      return wasMeant ? .changed(FoundAccessory(it), from: FoundAccessory(before)) : .arrived(FoundAccessory(it))
    case .left(let it):
      return known.removeValue(forKey: it.path).map { .left(FoundAccessory($0), reason: "unplugged") }
    }
  }

  func connect(
    to accessory: FoundAccessory, completion: @escaping (Result<OpenedCable, TransportError>) -> Void
  ) throws(TransportError) -> any Connecting {
    let address = accessory.address
    guard let device = known[accessory.key] else { throw .left(address) }
    return USBOpening(device, on: loop) { result in
      completion(
        result.map { OpenedCable($0.cable, droppedBytes: $0.staleCount) }
          .mapError { TransportError($0, at: address) })
    }
  }
}

extension USBOpening: Connecting {}

extension FoundAccessory {
  fileprivate init(_ device: USBAccessory) {
    self.init(key: device.path, identity: device.port, address: device.address)
    name = device.title
    manufacturer = device.manufacturer
    model = device.numbers
    serial = device.serial
    trouble = device.trouble.map { TransportError($0, at: device.address) }
  }
}

extension TransportError {
  fileprivate init(_ error: USBHostError, at address: Address) {
    self =
      switch error {
      case .noPermission(let node):
        .notPermitted(
          address, "no permission to open \(node)",
          fix: "install the udev rule and plug the accessory in again: \(USBRule.installCommand)")
      case .claimed: .inUse(address, pid: nil)
      case .gone: .left(address)
      case .nearMiss(let reason): .unusable(address, reason)
      case .refused(let call, let reason): .failed(address, "cannot \(call): \(reason)")
      }
  }
}

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
private final class USBIPBus {
  /// The address on which the server is listening, including the port, even a port that the system chose.
  let address: Address

  private let server: USBIPServer
  private var listener: (any Listener)?

  /// - Parameter report: called when a client violates the protocol or is refused.
  init(
    host: String, port: UInt16, on loop: any PollingLoop, options: TransportOptions,
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

private final class USBIPPort: Port {
  // The bus is retained so that its server exists for as long as an accessory can be plugged in.
  private let bus: USBIPBus
  private let export: USBIPExport

  init(_ bus: USBIPBus, _ export: USBIPExport) {
    self.bus = bus
    self.export = export
  }

  /// The accessory's address, such as "usbip:127.0.0.1:3240, bus id 1-1".
  var place: String { "\(bus.address), bus id \(export.busID)" }

  func open(_ onEvent: @escaping (PortEvent) -> Void) throws {
    let place = place
    export.plugIn { cable in onEvent(.cable(cable, from: "a USB host on \(place)")) }
  }

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

/// Simulated accessories on this machine's USB device port, each of which is a gadget provided through FunctionFS.
struct GadgetMedium: Medium {
  let kinds = [Address.Kind.gadget]
  let capacity = PortCapacity.one
  let noticesPulledCables = true

  func look(at address: Address) throws -> Sighting? { throw TransportError.simulatorsOnly(address) }

  func openPorts(at address: Address, _ context: PortContext) -> PortFactory {
    guard case .gadget(let controller) = address else { preconditionFailure("\(address) is not a gadget's address") }
    return { profile, number in
      GadgetPort(
        try Gadget(
          USBAccessoryShape(profile), controller: controller, number: number, on: context.loop, report: context.warn))
    }
  }
}

/// A USB device port on this machine, with one accessory that is provided as a gadget through FunctionFS.
///
/// Opening the port binds the gadget to the controller, closing the port unbinds it, and releasing the port removes it.
private final class GadgetPort: Port {
  private let gadget: Gadget

  init(_ gadget: Gadget) { self.gadget = gadget }

  /// The accessory's address, such as "gadget:fe980000.usb".
  var place: String { "\(Address.gadget(controller: gadget.controller))" }

  func open(_ onEvent: @escaping (PortEvent) -> Void) throws {
    let place = place
    try gadget.plugIn { news in
      switch news {
      case .cable(let cable): onEvent(.cable(cable.dedicated, from: "a USB host on \(place)"))
      case .lost(let reason): onEvent(.ended(reason))
      }
    }
  }

  func close() {
    gadget.unplug()
  }
}
