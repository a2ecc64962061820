import AccessoryCore
import CUSB
import Glibc

/// An open device in use on an event loop. The cable owns the iAP2 channel and the native channels, handles libusb's
/// events, and releases the device.
///
/// A native channel goes through seven states, and ``BlockingUSBCalls`` makes the calls that block:
///
/// ```
///   asked for ─▶ claimed, alternate 1 ─▶ used ─▶ closed ─▶ transfers back ─▶ alternate 0, released ─▶ forgotten
///                                                  └── the next session on it waits for this ─────────┘
/// ```
///
/// When every channel has ended, the thread that opened the device releases it and reattaches its kernel driver.
///
/// The loop watches the descriptors of the device's libusb context, so no thread blocks inside libusb. Descriptors that
/// epoll rejects, such as umockdev's, are polled every millisecond.
public final class USBCable: DescriptorHandler {
  private let device: OpenUSBDevice
  private let loop: any PollingLoop
  private var watches: [Int32: any DescriptorWatch] = [:]
  private var main: USBChannel?
  private var nativeChannels: [UInt8: USBChannel] = [:]
  /// Channels that are waiting for an earlier channel on the same interface to be removed.
  private var waiting: [UInt8: USBChannel] = [:]
  /// The main channel's transfers that have not been cancelled yet.
  private var abandoned: AbandonedTransfers?
  /// Keeps the cable alive while transfers are in flight, because transfers hold pointers to its channels.
  private var keptAlive: USBCable?

  init(_ device: OpenUSBDevice, on loop: any PollingLoop) throws {
    self.device = device
    self.loop = loop
    try watchDescriptors()
    let place = USBChannel.Place(handle: device.handle, pair: device.interfaces.main, isNative: false)
    main = USBChannel(place, by: device.calls, early: device.early, on: loop) { [unowned self] abandoned in
      main = nil
      self.abandoned = abandoned
      giveBackIfIdle()
    }
    keptAlive = self
  }

  /// How many stale bytes from an earlier session were dropped.
  public var staleCount: Int { device.staleCount }

  /// The cable for the session layer. The cable's main channel has not been started.
  public var cable: Cable {
    guard let main else { preconditionFailure("a cable must be taken before its channel ends") }
    if device.interfaces.natives.isEmpty { return Cable(main: main) }
    return Cable(main: main) { [weak self] name throws(NativeChannelRefusal) in
      guard let self else { throw NativeChannelRefusal("the accessory was unplugged") }
      return try openNativeChannel(name)
    }
  }

  // MARK: libusb

  private func watchDescriptors() throws {
    guard let list = libusb_get_pollfds(device.context) else { return }
    defer { libusb_free_pollfds(list) }
    var next = list
    while let descriptor = next.pointee?.pointee {
      try watch(descriptor.fd, descriptor.events)
      next += 1
    }
    libusb_set_pollfd_notifiers(
      device.context,
      { descriptor, events, cable in
        guard let cable else { return }
        try? Unmanaged<USBCable>.fromOpaque(cable).takeUnretainedValue().watch(descriptor, events)
      },
      { descriptor, cable in
        guard let cable else { return }
        Unmanaged<USBCable>.fromOpaque(cable).takeUnretainedValue().watches.removeValue(forKey: descriptor)?.cancel()
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func watch(_ descriptor: Int32, _ events: Int16) throws {
    var interest: Readiness = []
    if Int32(events) & POLLIN != 0 { interest.insert(.readable) }
    if Int32(events) & POLLOUT != 0 { interest.insert(.writable) }
    watches[descriptor]?.cancel()
    watches[descriptor] = try loop.watch(descriptor, for: interest, self)
  }

  /// Lets libusb handle its events. The loop calls this method.
  public func descriptorReady(_ readiness: Readiness) {
    var now = timeval(tv_sec: 0, tv_usec: 0)
    libusb_handle_events_timeout_completed(device.context, &now, nil)
    main?.judgeReturned()
    for channel in nativeChannels.values { channel.judgeReturned() }
    guard readiness.contains(.hangup) else { return }
    main?.deviceHungUp()
    for channel in nativeChannels.values { channel.deviceHungUp() }
  }

  // MARK: Native transport

  private func openNativeChannel(_ protocolName: String) throws(NativeChannelRefusal) -> any Channel {
    guard let native = device.native(of: protocolName) else {
      throw NativeChannelRefusal("the accessory has no interface FF/F0/01 of that name with a pair of bulk endpoints")
    }
    guard main?.isLeaving == false else { throw NativeChannelRefusal("the accessory was unplugged") }
    let place = USBChannel.Place(handle: device.handle, pair: native, isNative: true)
    let channel = USBChannel(place, by: device.calls, on: loop) { [unowned self] abandoned in
      nativeChannelIsIdle(abandoned, native)
    }
    if let before = waiting[native.number] ?? nativeChannels[native.number] {
      guard before.isLeaving, waiting[native.number] == nil else { throw .inUse }
      waiting[native.number] = channel
    } else {
      begin(channel, native)
    }
    return channel
  }

  private func begin(_ channel: USBChannel, _ native: BulkPair) {
    nativeChannels[native.number] = channel
    let (device, loop, this) = (device, loop, LoopBound(self, on: loop))
    // The native transport is claimed in a later turn of the loop, so that the current turn's messages, such as the one
    // that accepts the accessory, are sent first.
    loop.schedule(after: .zero) {
      device.calls.run {
        let result = Result { () throws(USBHostError) in try device.begin(native) }
        loop.execute { this.value.nativeChannels[native.number]?.opened(result) }
      }
    }
  }

  private func nativeChannelIsIdle(_ abandoned: AbandonedTransfers, _ native: BulkPair) {
    let (device, loop, this) = (device, loop, LoopBound(self, on: loop))
    device.calls.run {
      abandoned.takeBack(device.context)
      device.end(native)
      loop.execute { this.value.forgetChannel(native) }
    }
  }

  private func forgetChannel(_ native: BulkPair) {
    nativeChannels[native.number] = nil
    if let next = waiting.removeValue(forKey: native.number) { begin(next, native) }
    giveBackIfIdle()
  }

  // MARK: The end

  private func giveBackIfIdle() {
    guard main == nil, nativeChannels.isEmpty, keptAlive != nil else { return }
    // After this, another thread may use the context.
    libusb_set_pollfd_notifiers(device.context, nil, nil, nil)
    for watch in watches.values { watch.cancel() }
    watches = [:]
    let (device, loop, abandoned) = (device, loop, abandoned)
    self.abandoned = nil
    device.calls.run {
      abandoned?.takeBack(device.context)
      device.giveBack()
      // The empty block wakes the loop, which may be waiting for the device to be released.
      loop.execute {}
    }
    keptAlive = nil
  }
}

/// A bulk transfer and its buffer, which are reused many times.
///
/// While a transfer is in flight, libusb holds an unmanaged pointer to this object, so the owner must retain the object
/// until the transfer has returned.
final class USBTransfer {
  enum Outcome: Equatable {
    case done
    case cancelled
    case stalled
    case gone
    /// The transfer failed on the wire. The text describes the error.
    case failed(String)
  }

  private let raw: UnsafeMutablePointer<libusb_transfer>
  private let buffer: UnsafeMutableRawBufferPointer
  private let handle: OpaquePointer
  private let endpoint: UInt8
  /// Called when the transfer has returned. This closure is nil once the result is no longer needed.
  var ended: ((USBTransfer) -> Void)?
  // Exclusivity checking is off because a transfer has one owner and these properties are plain values.
  @exclusivity(unchecked) private(set) var isInFlight = false
  @exclusivity(unchecked) private var range = 0..<0
  /// The transfer's sequence number within its direction.
  var order = 0

  init(
    _ handle: OpaquePointer, endpoint: UInt8, capacity: Int, ended: @escaping (USBTransfer) -> Void
  ) {
    guard let raw = libusb_alloc_transfer(0) else { preconditionFailure("out of memory for a USB transfer") }
    self.raw = raw
    self.handle = handle
    self.endpoint = endpoint
    self.ended = ended
    buffer = .allocate(byteCount: capacity, alignment: 64)
  }

  deinit {
    precondition(!isInFlight, "a USB transfer was released while in flight")
    libusb_free_transfer(raw)
    buffer.deallocate()
  }

  var isIncoming: Bool { endpoint & UInt8(LIBUSB_ENDPOINT_IN.rawValue) != 0 }

  /// The received bytes, or the bytes that have not been sent yet.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[range]) }

  func fill(_ bytes: UnsafeRawBufferPointer) {
    buffer.copyMemory(from: bytes)
    range = 0..<bytes.count
  }

  func empty() { range = 0..<buffer.count }

  /// Skips the bytes that the device had already read when the transfer stopped.
  func advance() { range = range.lowerBound + min(range.count, Int(raw.pointee.actual_length))..<range.upperBound }

  func keepReceived() { range = 0..<min(buffer.count, max(0, Int(raw.pointee.actual_length))) }

  /// Submits the transfer and returns a libusb code.
  ///
  /// - Parameter endsWithZero: whether an empty packet marks the end of the transfer.
  func submit(endsWithZero: Bool) -> Int32 {
    let start = buffer.baseAddress.map { ($0 + range.lowerBound).assumingMemoryBound(to: UInt8.self) }
    libusb_fill_bulk_transfer(
      raw, handle, endpoint, start, Int32(range.count), { USBTransfer.returned($0) },
      Unmanaged.passUnretained(self).toOpaque(), 0)
    raw.pointee.flags = endsWithZero ? UInt8(LIBUSB_TRANSFER_ADD_ZERO_PACKET.rawValue) : 0
    var code = libusb_submit_transfer(raw)
    if code == LIBUSB_ERROR_NOT_SUPPORTED.rawValue, endsWithZero {
      raw.pointee.flags = 0
      code = libusb_submit_transfer(raw)
    }
    isInFlight = code == 0
    return code
  }

  /// Cancels the transfer. The transfer returns when the host controller has released it.
  func cancel() {
    if isInFlight { libusb_cancel_transfer(raw) }
  }

  var outcome: Outcome {
    switch raw.pointee.status {
    case LIBUSB_TRANSFER_COMPLETED: .done
    case LIBUSB_TRANSFER_CANCELLED: .cancelled
    case LIBUSB_TRANSFER_STALL: .stalled
    case LIBUSB_TRANSFER_NO_DEVICE: .gone
    case LIBUSB_TRANSFER_OVERFLOW: .failed("it sent more than requested")
    default: .failed("a transfer failed on the wire")
    }
  }

  private static func returned(_ raw: UnsafeMutablePointer<libusb_transfer>?) {
    guard let context = raw?.pointee.user_data else { return }
    let transfer = Unmanaged<USBTransfer>.fromOpaque(context).takeUnretainedValue()
    transfer.isInFlight = false
    transfer.ended?(transfer)
  }
}

/// Transfers that are no longer needed. Some of these transfers may still be in flight.
final class AbandonedTransfers: @unchecked Sendable {
  private var transfers: [USBTransfer]

  /// Takes over transfers from a loop, which must release its references to them.
  init(_ transfers: [USBTransfer]) {
    self.transfers = transfers
    for transfer in transfers { transfer.ended = nil }
  }

  /// Cancels the transfers in flight and frees all transfers. This call blocks. The device must still be open because
  /// libusb uses the device and its context to free a transfer.
  func takeBack(_ context: OpaquePointer) {
    for transfer in transfers { transfer.cancel() }
    while transfers.contains(where: \.isInFlight) {
      var second = timeval(tv_sec: 1, tv_usec: 0)
      libusb_handle_events_timeout_completed(context, &second, nil)
    }
    transfers = []
  }
}
