import CLibUSB
import Glibc

/// One bulk transfer with its buffer, used again and again.
///
/// While it is in flight libusb holds a pointer to it that keeps nothing alive: its owner keeps it until it is back.
final class USBTransfer {
  /// What came back.
  enum Outcome: Equatable {
    case done
    case cancelled
    /// The device halted the endpoint.
    case stalled
    /// The device is gone.
    case gone
    /// An error on the wire, in words.
    case failed(String)
  }

  private let raw: UnsafeMutablePointer<libusb_transfer>
  private let buffer: UnsafeMutableRawBufferPointer
  private let handle: OpaquePointer
  private let endpoint: UInt8
  /// Hears when it is back; nil once nobody wants to know.
  var ended: ((USBTransfer) -> Void)?
  // Not checked for overlapping access: whoever has a transfer has it alone, and these are plain values.
  @exclusivity(unchecked) private(set) var isInFlight = false
  /// The part of the buffer that is, or was, to be transferred.
  @exclusivity(unchecked) private var range = 0..<0
  /// Where it stands among those of its direction.
  var order = 0

  init(
    _ handle: OpaquePointer, endpoint: UInt8, capacity: Int, ended: @escaping (USBTransfer) -> Void
  ) {
    guard let raw = libusb_alloc_transfer(0) else { preconditionFailure("there is no memory for a USB transfer") }
    self.raw = raw
    self.handle = handle
    self.endpoint = endpoint
    self.ended = ended
    buffer = .allocate(byteCount: capacity, alignment: 64)
  }

  deinit {
    precondition(!isInFlight, "a USB transfer is let go while it is in flight")
    libusb_free_transfer(raw)
    buffer.deallocate()
  }

  /// Whether it brings bytes in.
  var isIncoming: Bool { endpoint & UInt8(LIBUSB_ENDPOINT_IN.rawValue) != 0 }

  /// What was received, or is still to be sent.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[range]) }

  /// Puts bytes to send into the buffer.
  func fill(_ bytes: UnsafeRawBufferPointer) {
    buffer.copyMemory(from: bytes)
    range = 0..<bytes.count
  }

  /// Makes the whole buffer ready to receive.
  func empty() { range = 0..<buffer.count }

  /// Steps over what the device took before it stopped.
  func advance() { range = range.lowerBound + min(range.count, Int(raw.pointee.actual_length))..<range.upperBound }

  /// Keeps what arrived alone.
  func keepReceived() { range = 0..<min(buffer.count, max(0, Int(raw.pointee.actual_length))) }

  /// Gives it to the kernel; a code of libusb.
  ///
  /// - Parameter endsWithZero: whether an empty packet follows, so that the device knows that the transfer is over.
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

  /// Takes it back from the kernel, and waits until whoever controls the bus has let go of it. Then it comes back.
  func cancel() {
    if isInFlight { libusb_cancel_transfer(raw) }
  }

  var outcome: Outcome {
    switch raw.pointee.status {
    case LIBUSB_TRANSFER_COMPLETED: .done
    case LIBUSB_TRANSFER_CANCELLED: .cancelled
    case LIBUSB_TRANSFER_STALL: .stalled
    case LIBUSB_TRANSFER_NO_DEVICE: .gone
    case LIBUSB_TRANSFER_OVERFLOW: .failed("it sent more than was asked for")
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

/// Transfers that nobody wants any more, some of them still in flight.
final class AbandonedTransfers: @unchecked Sendable {
  private var transfers: [USBTransfer]

  /// Takes them over from a loop, which lets go of its own references.
  init(_ transfers: [USBTransfer]) {
    self.transfers = transfers
    for transfer in transfers { transfer.ended = nil }
  }

  /// Takes back from the kernel what is in flight, and frees them all: libusb looks at the device and its context when it
  /// frees one, so this comes before the device is given back. Blocks.
  func takeBack(_ context: OpaquePointer) {
    for transfer in transfers { transfer.cancel() }
    while transfers.contains(where: \.isInFlight) {
      var second = timeval(tv_sec: 1, tv_usec: 0)
      libusb_handle_events_timeout_completed(context, &second, nil)
    }
    transfers = []
  }
}
