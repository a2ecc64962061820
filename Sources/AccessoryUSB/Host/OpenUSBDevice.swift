import AccessoryCore
import CLibUSB
import Glibc

/// A device that was opened and whose iAP interface was claimed, with a context of libusb for itself alone.
///
/// It is made and given back on the thread of its ``BlockingUSBCalls`` and used on a loop in between; never on both at once,
/// except for halts, which are cleared, and native transports, which are claimed, while the loop goes on.
final class OpenUSBDevice: @unchecked Sendable {
  let context: OpaquePointer
  let handle: OpaquePointer
  let interface: IAPInterface
  /// Runs everything that blocks.
  let calls: BlockingUSBCalls
  /// How many bytes of an earlier session were dropped.
  private(set) var staleCount = 0
  /// What was read last and belongs to the session that begins.
  private(set) var early: [UInt8] = []
  /// The protocol that each native transport names, where it can be read; by interface.
  private var nativeNames: [UInt8: String] = [:]
  private let descriptor: Int32
  private let node: String

  /// How long an accessory is silent before what comes is its own.
  private static let silence: UInt32 = 10
  /// An accessory that never is silent is taken as it is after so many reads.
  private static let mostStaleReads = 32

  /// Opens the device and claims its interface. Blocks.
  init(_ accessory: USBAccessory, by calls: BlockingUSBCalls) throws(USBHostError) {
    let interface = try accessory.interface.get()
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
    (self.context, self.handle, self.interface) = (context, handle, interface)
    (self.descriptor, self.node) = (descriptor, node)
    self.calls = calls
    USBHost.openDevices.add(1, ordering: .relaxed)
    do throws(USBHostError) {
      try claim(accessory)
    } catch {
      giveBack()
      throw error
    }
    for native in interface.natives { nativeNames[native.number] = string(native.nameIndex) }
    drain()
  }

  /// A string of the device; nil where it has none or does not give it.
  private func string(_ index: UInt8) -> String? {
    if index == 0 { return nil }
    var bytes = [UInt8](repeating: 0, count: 255)
    let count = libusb_get_string_descriptor(handle, index, Self.english, &bytes, Int32(bytes.count))
    let end = min(Int(count), Int(bytes[0]))
    guard end >= 2, bytes[1] == 3 else { return nil }
    let units = bytes[2..<end]
    return String(
      decoding: stride(from: units.startIndex, to: units.endIndex - 1, by: 2).map {
        UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8
      }, as: UTF16.self)
  }

  private static let english: UInt16 = 0x0409

  /// The native transport of a protocol: the one that has its name, or the only one, where that has none that fits.
  func native(of protocolName: String) -> NativeInterface? {
    interface.natives.first { nativeNames[$0.number] == protocolName }
      ?? (interface.natives.count == 1 ? interface.natives.first : nil)
  }

  /// Claims a native transport and begins a session on it. Blocks.
  func begin(_ native: NativeInterface) throws(USBHostError) {
    let number = Int32(native.number)
    try check(libusb_claim_interface(handle, number), "claim interface \(number)")
    do throws(USBHostError) {
      // Also where it is chosen already: with its endpoints goes what an earlier session left in them.
      try check(libusb_set_interface_alt_setting(handle, number, 0), "choose alternate setting 0")
      try check(
        libusb_set_interface_alt_setting(handle, number, Int32(native.alternate)),
        "choose alternate setting \(native.alternate)")
    } catch {
      libusb_release_interface(handle, number)
      throw error
    }
  }

  /// Ends a session on a native transport, and releases it. Blocks. A device that is gone has ended it already.
  func end(_ native: NativeInterface) {
    libusb_set_interface_alt_setting(handle, Int32(native.number), 0)
    libusb_release_interface(handle, Int32(native.number))
  }

  private func claim(_ accessory: USBAccessory) throws(USBHostError) {
    // Only where it must be: choosing a configuration takes every other interface from whoever uses it.
    if let active = accessory.activeConfiguration, active != interface.configuration {
      try check(libusb_set_configuration(handle, Int32(interface.configuration)), "choose the configuration")
    }
    // A kernel driver is detached, and attached again when the interface is released.
    libusb_set_auto_detach_kernel_driver(handle, 1)
    try check(libusb_claim_interface(handle, Int32(interface.number)), "claim the interface")
    // Also where there is only one: it is how a device hears that a new program begins, and starts its endpoints anew.
    // Then a device may not know the request, and need not.
    let code = libusb_set_interface_alt_setting(handle, Int32(interface.number), Int32(interface.alternate))
    if interface.alternate != 0 { try check(code, "choose the alternate setting") }
  }

  private func check(_ code: Int32, _ call: String) throws(USBHostError) {
    if code != 0 { throw USBHostError(code, at: call, node: node) }
  }

  /// What an accessory sends first, again and again until it is answered; a second passes in between.
  private static let detection: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]

  /// Reads what an earlier session left in the accessory's endpoint, until there is silence. A detection sequence at its
  /// end is no leftover: it is what the accessory began with when it was opened.
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
        handle, interface.incoming.address, &buffer, Int32(buffer.count), &count, Self.silence)
      staleCount += Int(count)
      tail = Array((tail + buffer[..<Int(count)].suffix(Self.detection.count)).suffix(Self.detection.count))
      if code == LIBUSB_ERROR_PIPE.rawValue { libusb_clear_halt(handle, interface.incoming.address) }
      // A device that is gone, or in error, says so again when it is used.
      if code != 0, code != LIBUSB_ERROR_PIPE.rawValue { return }
    }
  }

  /// Releases everything. Blocks, and is the last call.
  func giveBack() {
    // Otherwise a device hears nothing of a program that leaves, until the next one comes.
    libusb_set_interface_alt_setting(handle, Int32(interface.number), Int32(interface.alternate))
    libusb_release_interface(handle, Int32(interface.number))
    libusb_close(handle)
    libusb_exit(context)
    Glibc.close(descriptor)
    USBHost.openDevices.subtract(1, ordering: .releasing)
  }
}

/// A device on its way to being open: what can cancel it.
public final class USBOpening {
  private var completion: ((Result<USBCable, USBHostError>) -> Void)?

  /// Opens an accessory, on a thread of its own, and tells on the loop.
  ///
  /// - Parameter completion: called once, in a later turn, with the cable (not started) or with what went wrong.
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

  /// Gives up; the completion is not called any more.
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
