import AccessoryCables
import AccessoryCore
import AccessoryProfiles
import AccessoryUSB
import LinuxIO

/// Simulated accessories on this machine's USB device port, each of which is a gadget provided through FunctionFS.
struct GadgetMedium: Medium {
  let kinds = [Address.Kind.gadget]
  let capacity = PortCapacity.one
  let noticesPulledCables = true

  func look(at address: Address) throws -> Sighting? { throw TransportError.simulatorsOnly(address) }

  func openPorts(at address: Address, _ context: PortContext) -> PortFactory {
    guard case .gadget(let controller) = address else { preconditionFailure("\(address) is not a gadget's address") }
    return { profile, number in
      try GadgetPort(profile, controller: controller, number: number, on: context.loop, report: context.warn)
    }
  }
}

/// A USB device port on this machine, with one accessory that is provided as a gadget through FunctionFS.
///
/// Opening the port binds the gadget to the controller, closing the port unbinds it, and releasing the port removes it.
///
/// ```swift
/// let port = try GadgetPort(profile, controller: nil, number: 1, on: loop) { print($0) }
/// let accessory = SimulatedAccessory(profile, at: port, …)
/// ```
final class GadgetPort: Port {
  private let gadget: Gadget

  /// Creates the gadget.
  ///
  /// - Parameters:
  ///   - controller: the controller's name in /sys/class/udc, or nil for the machine's only controller.
  ///   - number: a number that differs for each gadget in a process.
  ///   - report: called with each warning, as a sentence.
  init(
    _ profile: Profile, controller: String?, number: Int, on loop: any PollingLoop, report: @escaping (String) -> Void
  ) throws(GadgetError) {
    gadget = try Gadget(
      USBAccessoryShape(profile), controller: controller, number: number, on: loop, report: report)
  }

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
