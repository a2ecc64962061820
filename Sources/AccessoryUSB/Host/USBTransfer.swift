import CUSB
import Glibc

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
