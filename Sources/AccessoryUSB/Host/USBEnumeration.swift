import AccessoryCore
import CUdev
import Glibc

/// Reads from sysfs which devices are on USB.
enum USBEnumeration {
  /// The most bytes of descriptors to read; a longer file is wrong.
  private static let longestDescriptors = 256 * 1024

  /// Every accessory, and every device that is almost one.
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

  /// The device at a path in sysfs now; the event of a monitor may be outdated. Blocks.
  static func accessory(at path: String) -> USBAccessory? {
    guard let udev = udev_new() else { return nil }
    defer { udev_unref(udev) }
    guard let device = udev_device_new_from_syspath(udev, path) else { return nil }
    defer { udev_device_unref(device) }
    return accessory(device)
  }

  /// The device as an accessory, or as almost one; nil when it is something else, or already half removed.
  static func accessory(_ device: OpaquePointer) -> USBAccessory? {
    func attribute(_ name: String) -> String? {
      udev_device_get_sysattr_value(device, name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
    guard
      let path = udev_device_get_syspath(device).map({ String(cString: $0) }),
      let port = udev_device_get_sysname(device).map({ String(cString: $0) }),
      let node = udev_device_get_devnode(device).map({ String(cString: $0) }),
      let bus = attribute("busnum").flatMap({ Int($0.trimmed) }),
      let number = attribute("devnum").flatMap({ Int($0.trimmed) }),
      let bytes = read("\(path)/descriptors")
    else { return nil }
    let active = attribute("bConfigurationValue").flatMap { UInt8($0.trimmed) }
    var vendor: UInt16 = 0
    var product: UInt16 = 0
    let interface: Result<IAPInterface, USBHostError>
    do throws(DescriptorError) {
      let descriptors = try USBDescriptors(reading: bytes)
      (vendor, product) = (descriptors.vendor, descriptors.product)
      switch descriptors.findIAP(active: active) {
      case .accessory(let found): interface = .success(found)
      case .nearMiss(let reason): interface = .failure(.nearMiss(reason))
      case .unrelated: return nil
      }
    } catch {
      vendor = attribute("idVendor").flatMap { UInt16($0.trimmed, radix: 16) } ?? 0
      product = attribute("idProduct").flatMap { UInt16($0.trimmed, radix: 16) } ?? 0
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
    // The driver name of the kernel for an interface that a program has claimed.
    return driver == "usbfs" ? .claimed : nil
  }

  private static func driver(of interface: IAPInterface, at path: String, port: String) -> String? {
    var target = [CChar](repeating: 0, count: 512)
    let link = "\(path)/\(port):\(interface.configuration).\(interface.number)/driver"
    let count = readlink(link, &target, target.count)
    guard count > 0 else { return nil }
    let bytes = target[..<count].map { UInt8(bitPattern: $0) }
    return String(decoding: bytes, as: UTF8.self).split(separator: "/").last.map(String.init)
  }

  private static func read(_ path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.count < longestDescriptors {
      let count = Glibc.read(file, &buffer, buffer.count)
      if count <= 0 { break }
      bytes += buffer[..<count]
    }
    return bytes
  }
}

extension String {
  /// Without the line end and the blanks that sysfs puts around numbers.
  fileprivate var trimmed: Substring {
    let kept = drop { $0.isWhitespace }
    return kept.lastIndex { !$0.isWhitespace }.map { kept[...$0] } ?? ""
  }
}
