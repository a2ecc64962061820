import AccessoryCore

/// A USB device that is an accessory or almost one, with what is known about it without opening it.
public struct USBAccessory: Equatable, Sendable {
  /// Its directory in sysfs, which is named by the port.
  public var path: String
  /// The port, as in addresses: `1-2.4`.
  public var port: String
  /// The bus it is on.
  public var bus: Int
  /// The kernel's number for it, which changes each time it is plugged in.
  public var number: Int
  /// The device file that opens it.
  public var node: String
  /// idVendor.
  public var vendor: UInt16
  /// idProduct.
  public var product: UInt16
  /// The strings in its device descriptor, as far as it has them.
  public var manufacturer: String?
  /// The product's name.
  public var name: String?
  /// The serial number.
  public var serial: String?
  /// The interface that carries iAP2, or the reason why there is none.
  public var interface: Result<IAPInterface, USBHostError>
  /// The configuration that was selected when it was examined.
  public var activeConfiguration: UInt8?
  /// Why it cannot be used now, although it is an accessory.
  public var obstacle: USBHostError?

  /// Creates a description of a device.
  public init(
    path: String, port: String, bus: Int, number: Int, node: String, vendor: UInt16, product: UInt16,
    manufacturer: String? = nil, name: String? = nil, serial: String? = nil,
    interface: Result<IAPInterface, USBHostError>, activeConfiguration: UInt8? = nil, obstacle: USBHostError? = nil
  ) {
    self.path = path
    self.port = port
    self.bus = bus
    self.number = number
    self.node = node
    self.vendor = vendor
    self.product = product
    self.manufacturer = manufacturer
    self.name = name
    self.serial = serial
    self.interface = interface
    self.activeConfiguration = activeConfiguration
    self.obstacle = obstacle
  }

  /// Its address.
  public var address: Address {
    let parts = port.split(separator: "-")
    let steps = (parts.last ?? "").split(separator: ".").compactMap { Int($0) }
    return .usb(.port(bus: parts.first.flatMap { Int($0) } ?? bus, path: steps))
  }

  /// Why it cannot be used as an accessory; nil when it can.
  public var trouble: USBHostError? {
    if case .failure(let reason) = interface { return reason }
    return obstacle
  }

  /// Whether it is an accessory, usable or not.
  public var isAccessory: Bool {
    if case .success = interface { return true }
    return false
  }

  /// Vendor and product as they are written: `1209:0001`.
  public var numbers: String { "\(Address.USBSelector.product(vendor: vendor, product: product))" }

  /// Its name for users.
  public var title: String { name ?? "USB device \(numbers)" }

  /// Whether an address selects it.
  public func isMeant(by selector: Address.USBSelector) -> Bool {
    switch selector {
    case .any: true
    case .product(let vendor, let product): (vendor, product) == (self.vendor, self.product)
    case .serial(let serial): serial == self.serial
    case .port: address == .usb(selector)
    }
  }
}
