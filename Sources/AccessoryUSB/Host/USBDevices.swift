import AccessoryCore
import AccessoryFormats
import CUSB
import Glibc

/// Reports when USB accessories are plugged in and unplugged.
///
/// This type listens to both of libudev's sources: "udev" reports a change after the rules have run, and "kernel" works
/// even without udevd. Most arrivals are therefore reported twice. The second report is ignored unless something has
/// changed, such as a permission set by a rule.
///
/// ```swift
/// let devices = USBDevices(on: loop) { change in print(change) }
/// try devices.start()          // reports present devices before it returns
/// ```
public final class USBDevices: DescriptorHandler {
  /// A change to the set of USB devices.
  public enum Change: Equatable, Sendable {
    /// An accessory, or a device that resembles one, was plugged in.
    case arrived(USBAccessory)
    /// A device has changed. `from` is the device before the change.
    case changed(USBAccessory, from: USBAccessory)
    case left(USBAccessory)
  }

  private let loop: any PollingLoop
  private let onEvent: (Change) -> Void
  private var udev: OpaquePointer?
  private var monitors: [(monitor: OpaquePointer, watch: any DescriptorWatch)] = []
  private var known: [String: USBAccessory] = [:]

  /// Creates an observer without starting it. `onEvent` is called on the loop.
  public init(on loop: any PollingLoop, onEvent: @escaping (Change) -> Void) {
    self.loop = loop
    self.onEvent = onEvent
  }

  deinit { stop() }

  /// Starts observing, and reports all devices that are already plugged in.
  ///
  /// - Throws: ``USBHostError`` if libudev cannot be used.
  public func start() throws {
    loop.preconditionCurrent()
    guard let udev = udev_new() else { throw USBHostError.refused("use libudev", reason: "udev_new failed") }
    self.udev = udev
    // The observer starts to listen before it enumerates devices, so that it does not miss any. A device that arrives
    // in between is reported twice, and the second report is ignored.
    for source in ["kernel", "udev"] {
      guard let monitor = udev_monitor_new_from_netlink(udev, source) else { continue }
      udev_monitor_filter_add_match_subsystem_devtype(monitor, "usb", "usb_device")
      guard udev_monitor_enable_receiving(monitor) >= 0 else {
        udev_monitor_unref(monitor)
        continue
      }
      monitors.append((monitor, try loop.watch(udev_monitor_get_fd(monitor), for: .readable, self)))
    }
    guard !monitors.isEmpty else {
      throw USBHostError.refused(
        "watch for USB devices", reason: "the kernel provides no netlink socket for USB devices")
    }
    for accessory in USBEnumeration.scan(udev) { note(accessory) }
  }

  /// Stops reporting.
  public func stop() {
    for (monitor, watch) in monitors {
      watch.cancel()
      udev_monitor_unref(monitor)
    }
    monitors = []
    if let udev { udev_unref(udev) }
    udev = nil
  }

  /// Lists the devices that are currently plugged in, without watching for changes.
  ///
  /// - Throws: ``USBHostError`` if libudev cannot be used.
  public static func look() throws(USBHostError) -> [USBAccessory] {
    guard let udev = udev_new() else { throw .refused("use libudev", reason: "udev_new failed") }
    defer { udev_unref(udev) }
    return USBEnumeration.scan(udev).sorted { $0.path < $1.path }
  }

  /// Handles events from libudev's monitors. The loop calls this method.
  public func descriptorReady(_ readiness: Readiness) {
    for (monitor, _) in monitors {
      while let device = udev_monitor_receive_device(monitor) {
        happened(device)
        udev_device_unref(device)
      }
    }
  }

  private func happened(_ device: OpaquePointer) {
    guard let path = udev_device_get_syspath(device).map({ String(cString: $0) }) else { return }
    let isRemoval = udev_device_get_action(device).map { String(cString: $0) } == "remove"
    let (loop, this) = (loop, LoopBound(Weak(self), on: loop))
    // The look-up runs on a worker thread because reading sysfs blocks while the kernel configures a device. The
    // look-up takes seconds if the device does not answer. Removals pass through the same thread to preserve the order
    // of events.
    BlockingUSBCalls.deviceLookups.run {
      let seen = isRemoval ? nil : USBEnumeration.accessory(at: path)
      loop.execute { this.value.object?.saw(seen, at: path) }
    }
  }

  private func saw(_ accessory: USBAccessory?, at path: String) {
    // The observer may have been stopped during the look-up.
    if monitors.isEmpty { return }
    if let accessory { note(accessory) } else { forget(path) }
  }

  private func note(_ accessory: USBAccessory) {
    // A different number at the same port means that a removal event was missed.
    if let before = known[accessory.path], before.number != accessory.number { forget(accessory.path) }
    switch known.updateValue(accessory, forKey: accessory.path) {
    case nil: onEvent(.arrived(accessory))
    case let before? where before != accessory: onEvent(.changed(accessory, from: before))
    default: break
    }
  }

  private func forget(_ path: String) {
    if let accessory = known.removeValue(forKey: path) { onEvent(.left(accessory)) }
  }
}

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
