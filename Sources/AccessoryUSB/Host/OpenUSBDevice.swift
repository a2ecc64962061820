import AccessoryCore
import CUSB
import Glibc

/// An open device with a claimed iAP2 interface and its own libusb context.
///
/// The device is opened and released on the thread of its ``BlockingUSBCalls``; in between, it is used on an event
/// loop. The thread and the loop use the device at the same time only while halts are being cleared or native
/// transports are being claimed.
final class OpenUSBDevice: @unchecked Sendable {
  let context: OpaquePointer
  let handle: OpaquePointer
  let interfaces: IAPInterfaces
  let calls: BlockingUSBCalls
  private(set) var staleCount = 0
  /// Bytes of the new session that have already been read.
  private(set) var early: [UInt8] = []
  /// The native transports' protocol names that could be read, by interface.
  private var nativeNames: [UInt8: String] = [:]
  private let descriptor: Int32
  private let node: String

  /// Bytes that arrive after a pause of this many milliseconds belong to the new session. Earlier bytes are stale.
  private static let silence: UInt32 = 10
  /// The maximum number of reads of stale bytes. With this limit, even an accessory that never stops sending can be
  /// used.
  private static let mostStaleReads = 32

  /// Opens the device and claims its interface. This call blocks.
  init(_ accessory: USBAccessory, by calls: BlockingUSBCalls) throws(USBHostError) {
    let interfaces = try accessory.interface.get()
    let node = accessory.node
    let descriptor = open(node, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw USBHostError(openingErrno: errno, node: node) }
    _ = clibusb_look_for_no_devices()
    var context: OpaquePointer?
    var handle: OpaquePointer?
    var code = libusb_init(&context)
    guard code == 0, let context else {
      close(descriptor)
      throw USBHostError(code, at: "start libusb", node: node)
    }
    code = libusb_wrap_sys_device(context, Int(descriptor), &handle)
    guard code == 0, let handle else {
      libusb_exit(context)
      close(descriptor)
      throw USBHostError(code, at: "open \(node)", node: node)
    }
    (self.context, self.handle, self.interfaces) = (context, handle, interfaces)
    (self.descriptor, self.node) = (descriptor, node)
    self.calls = calls
    USBHost.openDevices.add(1, ordering: .relaxed)
    do throws(USBHostError) {
      try claim(accessory)
    } catch {
      giveBack()
      throw error
    }
    for native in interfaces.natives { nativeNames[native.number] = string(native.nameIndex) }
    drain()
  }

  private func string(_ index: UInt8) -> String? {
    var bytes = [UInt8](repeating: 0, count: 255)
    let count = libusb_get_string_descriptor_ascii(handle, index, &bytes, Int32(bytes.count))
    return count > 0 ? String(terminated: bytes) : nil
  }

  /// Returns the native transport with the given protocol name, or the only native transport if its name could not be
  /// read.
  func native(of protocolName: String) -> BulkPair? {
    interfaces.natives.first { nativeNames[$0.number] == protocolName }
      ?? (interfaces.natives.count == 1 ? interfaces.natives.first : nil)
  }

  /// Claims a native transport and begins a session on it. This call blocks.
  func begin(_ native: BulkPair) throws(USBHostError) {
    let number = Int32(native.number)
    try check(libusb_claim_interface(handle, number), "claim interface \(number)")
    do throws(USBHostError) {
      // Setting 0 is selected even if it is already active, because this discards an earlier session's bytes from the
      // endpoints.
      try check(libusb_set_interface_alt_setting(handle, number, 0), "choose alternate setting 0")
      try check(
        libusb_set_interface_alt_setting(handle, number, Int32(native.alternate)),
        "choose alternate setting \(native.alternate)")
    } catch {
      libusb_release_interface(handle, number)
      throw error
    }
  }

  /// Ends a session on a native transport, and releases the transport. This call blocks. Errors are ignored: if the
  /// device is gone, the session has already ended.
  func end(_ native: BulkPair) {
    libusb_set_interface_alt_setting(handle, Int32(native.number), 0)
    libusb_release_interface(handle, Int32(native.number))
  }

  private func claim(_ accessory: USBAccessory) throws(USBHostError) {
    // The configuration is selected only when needed, because selecting it closes the interfaces that other programs
    // use.
    if let active = accessory.activeConfiguration, active != interfaces.configuration {
      try check(libusb_set_configuration(handle, Int32(interfaces.configuration)), "choose the configuration")
    }
    // Detaches the kernel driver now, so that it is reattached when the interface is released.
    libusb_set_auto_detach_kernel_driver(handle, 1)
    try check(libusb_claim_interface(handle, Int32(interfaces.main.number)), "claim the interface")
    // Even if there is only one alternate setting, selecting it tells the device that a new program has started, and
    // resets the endpoints. A device with a single setting might reject the request, which is harmless.
    let code = libusb_set_interface_alt_setting(handle, Int32(interfaces.main.number), Int32(interfaces.main.alternate))
    if interfaces.main.alternate != 0 { try check(code, "choose the alternate setting") }
  }

  private func check(_ code: Int32, _ call: String) throws(USBHostError) {
    if code != 0 { throw USBHostError(code, at: call, node: node) }
  }

  /// The detection sequence, which an accessory sends once a second until it receives an answer.
  private static let detection: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]

  /// Reads and drops the bytes that an earlier session left in the accessory's endpoint, until no more arrive. If these
  /// bytes end with a detection sequence, it is kept, because the accessory sent it when the device was opened.
  private func drain() {
    var buffer = [UInt8](repeating: 0, count: USBChannel.readSize)
    var tail: [UInt8] = []
    defer {
      if tail == Self.detection {
        early = tail
        staleCount -= tail.count
      }
    }
    for _ in 0..<Self.mostStaleReads {
      var count: Int32 = 0
      let code = libusb_bulk_transfer(
        handle, interfaces.main.incoming.address, &buffer, Int32(buffer.count), &count, Self.silence)
      staleCount += Int(count)
      tail = Array((tail + buffer[..<Int(count)].suffix(Self.detection.count)).suffix(Self.detection.count))
      if code == LIBUSB_ERROR_PIPE.rawValue { libusb_clear_halt(handle, interfaces.main.incoming.address) }
      // If the device is gone or has failed, the next call that uses it reports the problem.
      if code != 0, code != LIBUSB_ERROR_PIPE.rawValue { return }
    }
  }

  /// Releases the device. This call blocks. The device must not be used afterwards.
  func giveBack() {
    // Without this call, the device would not notice that this program has ended until another program opened the
    // device.
    libusb_set_interface_alt_setting(handle, Int32(interfaces.main.number), Int32(interfaces.main.alternate))
    libusb_release_interface(handle, Int32(interfaces.main.number))
    libusb_close(handle)
    libusb_exit(context)
    Glibc.close(descriptor)
    USBHost.openDevices.subtract(1, ordering: .releasing)
  }
}

/// An attempt to open a device, which can be cancelled.
public final class USBOpening {
  private var completion: ((Result<USBCable, USBHostError>) -> Void)?

  /// Opens an accessory on a separate thread and reports the result on the loop.
  ///
  /// - Parameter completion: called once, in a later turn, with either a cable that has not been started or an error.
  @discardableResult
  public init(
    _ accessory: USBAccessory, on loop: any PollingLoop,
    completion: @escaping (Result<USBCable, USBHostError>) -> Void
  ) {
    loop.preconditionCurrent()
    self.completion = completion
    let this = LoopBound(self, on: loop)
    let pollingLoop = LoopBound(loop, on: loop)
    let calls = BlockingUSBCalls()
    calls.run {
      let result = Result { () throws(USBHostError) in try OpenUSBDevice(accessory, by: calls) }
      loop.execute { this.value.opened(result, on: pollingLoop.value) }
    }
  }

  /// Cancels the attempt. After cancellation, `completion` is not called.
  public func cancel() {
    completion = nil
  }

  private func opened(_ result: Result<OpenUSBDevice, USBHostError>, on loop: any PollingLoop) {
    guard let completion else {
      if case .success(let device) = result { device.calls.run { device.giveBack() } }
      return
    }
    self.completion = nil
    switch result {
    case .failure(let error): completion(.failure(error))
    case .success(let device):
      do {
        completion(.success(try USBCable(device, on: loop)))
      } catch {
        device.calls.run { device.giveBack() }
        completion(.failure(.refused("watch the device", reason: "\(error)")))
      }
    }
  }
}
