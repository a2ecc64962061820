import AccessoryCore
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
