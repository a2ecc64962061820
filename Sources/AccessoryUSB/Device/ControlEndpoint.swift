/// Endpoint 0 of a simulated accessory, which answers the standard requests that a kernel sends to enumerate a device.
///
/// The device is either addressed (configuration 0) or configured (configuration 1). Once the device is configured,
/// each interface is in alternate setting 0 until the host selects another setting. As chapter 9 of the USB
/// specification requires, the endpoint stalls a request that is not allowed in the current state.
struct ControlEndpoint {
  /// A setup packet: the eight bytes that begin every control transfer.
  struct Setup: Equatable {
    var type: UInt8
    var request: UInt8
    var value: UInt16
    var index: UInt16
    var length: UInt16

    init(littleEndian bytes: UInt64) {
      (type, request) = (UInt8(truncatingIfNeeded: bytes), UInt8(truncatingIfNeeded: bytes >> 8))
      value = UInt16(truncatingIfNeeded: bytes >> 16)
      index = UInt16(truncatingIfNeeded: bytes >> 32)
      length = UInt16(truncatingIfNeeded: bytes >> 48)
    }
  }

  enum Effect: Equatable {
    case nothing
    /// The host selected the configuration or the iAP2 interface's alternate setting, so the accessory restarts.
    case restarted
    /// The host selected an alternate setting of another interface.
    case chosen(interface: UInt8, alternate: UInt8)
    /// The host selected configuration 0, so the endpoints no longer exist.
    case stopped
  }

  private let shape: USBAccessoryShape
  private var configuration: UInt8 = 0
  /// The selected alternate setting of each interface. Interfaces in setting 0 are omitted.
  private var alternates: [UInt8: UInt8] = [:]

  var isConfigured: Bool { configuration != 0 }

  init(_ shape: USBAccessoryShape) {
    self.shape = shape
  }

  /// Returns the requested data (no bytes if the request has no data stage) or nil for a stall, and the effect of the
  /// request.
  mutating func handle(_ setup: Setup) -> (data: [UInt8]?, effect: Effect) {
    switch (setup.type, setup.request) {
    case (0x00, 9):
      guard setup.value <= 1 else { return (nil, .nothing) }
      configuration = UInt8(setup.value)
      alternates = [:]
      return ([], isConfigured ? .restarted : .stopped)
    case (0x01, 11):
      guard isConfigured, let interface = interface(setup, alternate: setup.value) else { return (nil, .nothing) }
      if interface.kind == .iAP { return ([], .restarted) }
      alternates[interface.number] = interface.alternate
      return ([], .chosen(interface: interface.number, alternate: interface.alternate))
    default: return (data(setup).map { Array($0.prefix(Int(setup.length))) }, .nothing)
    }
  }

  /// Answers a request that has no effect.
  private func data(_ setup: Setup) -> [UInt8]? {
    switch (setup.type, setup.request) {
    case (0x80, 6): descriptor(setup.value)
    case (0x80, 0): [1, 0]
    case (0x81, 0), (0x82, 0): isConfigured ? [0, 0] : nil
    case (0x80, 8): [configuration]
    case (0x81, 10): isConfigured ? interface(setup, alternate: 0).map { [alternates[$0.number] ?? 0] } : nil
    case (0x02, 1): setup.value == 0 && isConfigured ? [] : nil
    // The host controller manages addresses. Remote wake-up requests and halts set by the host have no effect.
    case (0x00, 5), (0x00, 1), (0x00, 3), (0x02, 3): []
    default: nil
    }
  }

  private func interface(_ setup: Setup, alternate: UInt16) -> USBInterface? {
    shape.interfaces(at: shape.speed).first { UInt16($0.number) == setup.index && UInt16($0.alternate) == alternate }
  }

  private func descriptor(_ value: UInt16) -> [UInt8]? {
    let index = UInt8(truncatingIfNeeded: value)
    switch value >> 8 {
    case 1: return shape.deviceDescriptor
    case 2: return index == 0 ? shape.configurationDescriptor : nil
    case 3: return shape.stringDescriptor(index)
    case 6: return shape.qualifierDescriptor
    default: return nil
    }
  }
}
