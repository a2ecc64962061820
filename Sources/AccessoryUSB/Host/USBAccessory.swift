import AccessoryCore
import AccessoryFormats
import CUSB
import Glibc

/// A USB device that is or resembles an accessory, with the information available before the device is opened.
public struct USBAccessory: Equatable, Sendable {
  /// The device's directory in sysfs, whose name is the port.
  public var path: String
  /// The port in the form used in addresses, such as `1-2.4`.
  public var port: String
  var bus: Int
  /// The kernel's number for the device, which changes each time the device is plugged in.
  var number: Int
  /// The path of the device file.
  package var node: String
  var vendor: UInt16
  var product: UInt16
  package var manufacturer: String?
  var name: String?
  /// The serial number, if the device has one.
  public var serial: String?
  /// The interfaces that carry iAP2, or the reason why there are none.
  var interface: Result<IAPInterfaces, USBHostError>
  /// The configuration that was selected when the device was examined.
  public var activeConfiguration: UInt8?
  /// Why the device, which is an accessory, cannot currently be used.
  package var obstacle: USBHostError?

  package var address: Address {
    let parts = port.split(separator: "-")
    let steps = (parts.last ?? "").split(separator: ".").compactMap { Int($0) }
    return .usb(.port(bus: parts.first.flatMap { Int($0) } ?? bus, path: steps))
  }

  /// The reason why the device cannot be used as an accessory, or nil if it can.
  public var trouble: USBHostError? {
    if case .failure(let reason) = interface { return reason }
    return obstacle
  }

  package var isAccessory: Bool { (try? interface.get()) != nil }

  /// The vendor and product IDs in their usual form, such as `1209:0001`.
  package var numbers: String { "\(Address.USBSelector.product(vendor: vendor, product: product))" }

  package var title: String { name ?? "USB device \(numbers)" }

  package func isMeant(by selector: Address.USBSelector) -> Bool {
    switch selector {
    case .any: true
    case .product(let vendor, let product): (vendor, product) == (self.vendor, self.product)
    case .serial(let serial): serial == self.serial
    case .port: address == .usb(selector)
    }
  }
}

enum USBEnumeration {
  /// The maximum number of descriptor bytes to read. A longer file is invalid.
  private static let longestDescriptors = 256 * 1024

  static func scan(_ udev: OpaquePointer) -> [USBAccessory] {
    guard let enumeration = udev_enumerate_new(udev) else { return [] }
    defer { udev_enumerate_unref(enumeration) }
    udev_enumerate_add_match_subsystem(enumeration, "usb")
    udev_enumerate_add_match_property(enumeration, "DEVTYPE", "usb_device")
    udev_enumerate_scan_devices(enumeration)
    var found: [USBAccessory] = []
    var entry = udev_enumerate_get_list_entry(enumeration)
    while let current = entry {
      if let path = udev_list_entry_get_name(current), let device = udev_device_new_from_syspath(udev, path) {
        if let accessory = accessory(device) { found.append(accessory) }
        udev_device_unref(device)
      }
      entry = udev_list_entry_get_next(current)
    }
    return found
  }

  /// Looks up the device that is now at a path in sysfs, because a monitor's event can be outdated. This call blocks.
  static func accessory(at path: String) -> USBAccessory? {
    guard let udev = udev_new() else { return nil }
    defer { udev_unref(udev) }
    guard let device = udev_device_new_from_syspath(udev, path) else { return nil }
    defer { udev_device_unref(device) }
    return accessory(device)
  }

  /// Returns the device if it is an accessory or resembles one. Returns nil for other devices and for devices that are
  /// being removed.
  static func accessory(_ device: OpaquePointer) -> USBAccessory? {
    func attribute(_ name: String) -> String? {
      udev_device_get_sysattr_value(device, name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
    // Numbers in sysfs can have spaces around them and a line break at the end.
    func digits(_ name: String) -> String? { attribute(name).map(OptionText.trimmed) }
    guard
      let path = udev_device_get_syspath(device).map({ String(cString: $0) }),
      let port = udev_device_get_sysname(device).map({ String(cString: $0) }),
      let node = udev_device_get_devnode(device).map({ String(cString: $0) }),
      let bus = digits("busnum").flatMap({ Int($0) }),
      let number = digits("devnum").flatMap({ Int($0) }),
      let bytes = SmallFile.read("\(path)/descriptors", limit: longestDescriptors)
    else { return nil }
    let active = digits("bConfigurationValue").flatMap { UInt8($0) }
    var vendor: UInt16 = 0
    var product: UInt16 = 0
    let interface: Result<IAPInterfaces, USBHostError>
    do throws(DescriptorError) {
      let descriptors = try USBDescriptors(reading: bytes)
      (vendor, product) = (descriptors.vendor, descriptors.product)
      switch descriptors.findIAP(active: active) {
      case .accessory(let found): interface = .success(found)
      case .nearMiss(let reason): interface = .failure(.nearMiss(reason))
      case .unrelated: return nil
      }
    } catch {
      vendor = digits("idVendor").flatMap { UInt16($0, radix: 16) } ?? 0
      product = digits("idProduct").flatMap { UInt16($0, radix: 16) } ?? 0
      interface = .failure(.nearMiss("its descriptors cannot be read: \(error)"))
    }
    return USBAccessory(
      path: path, port: port, bus: bus, number: number, node: node, vendor: vendor, product: product,
      manufacturer: attribute("manufacturer")?.printable, name: attribute("product")?.printable,
      serial: attribute("serial")?.printable,
      interface: interface, activeConfiguration: active,
      obstacle: obstacle(node, driver: (try? interface.get()).flatMap { driver(of: $0, at: path, port: port) }))
  }

  private static func obstacle(_ node: String, driver: String?) -> USBHostError? {
    if access(node, R_OK | W_OK) != 0, errno == EACCES || errno == EPERM { return .noPermission(node: node) }
    // If a program has claimed an interface, the kernel reports `usbfs` as the interface's driver.
    return driver == "usbfs" ? .claimed : nil
  }

  private static func driver(of interfaces: IAPInterfaces, at path: String, port: String) -> String? {
    let link = "\(path)/\(port):\(interfaces.configuration).\(interfaces.main.number)/driver"
    return FilePath.target(ofLink: link)?.split(separator: "/").last.map(String.init)
  }
}
