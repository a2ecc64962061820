import AccessoryCables
import AccessoryCore
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

/// Finds accessories that are connected over USB, and opens them.
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
