import AccessoryCore
import IAP2

struct ConnectionKey: Hashable {
  var interface: Int
  /// A bus address or a handle, which distinguishes between the connections on one interface.
  var place = 0
  /// The channel within the connection, for example an RFCOMM server channel.
  var channel = 0

  func with(channel: Int) -> Self { Self(interface: interface, place: place, channel: channel) }

  /// Returns true if this connection ends when `other` ends or when all connections at the address of `other` end.
  func isEnded(by other: ConnectionKey, isWholePlace: Bool) -> Bool {
    other.interface == interface && other.place == place && (isWholePlace || other.channel == channel)
  }
}

struct StreamKey: Hashable {
  var connection: ConnectionKey
  /// Whether the bytes come from the accessory, that is, from the USB device or from the Bluetooth peer.
  var isReceived: Bool
}

/// A fact extracted from the frames of a medium. Positions are indexes into ``CaptureFrame/bytes``.
enum StreamEvent {
  case bytes(StreamKey, ArraySlice<UInt8>, at: [Range<Int>])
  /// A part of a frame that contains only protocol structure, such as headers, lengths and checksums.
  case header(Range<Int>)
  /// A Bluetooth device's address in reverse byte order.
  case address(Range<Int>)
  case name(Range<Int>)
  /// A connection has ended. If `wholePlace` is true, all connections at its address have ended. Any bytes that follow
  /// belong to a new connection.
  case over(ConnectionKey, wholePlace: Bool)
  case problem(ConnectionKey, String)
}

/// Searches one direction of a connection for the first sign of iAP2, which is either the detection sequence or a
/// packet's header at the start of a transfer.
struct LinkSign {
  /// The last bytes of earlier transfers, in which a sign of iAP2 may have begun.
  private var tail: [UInt8] = []
  private(set) var transfers = 0
  private(set) var bytes = 0

  /// Processes a transfer. If the transfer completes a sign of iAP2, returns the bytes from the start of that sign.
  mutating func find(in transfer: ArraySlice<UInt8>) -> [UInt8]? {
    transfers += 1
    bytes += transfer.count
    let held = tail + transfer.prefix(PacketHeader.size)
    for place in 0...tail.count where Self.isSign(held[place...]) {
      return Array(held[place..<tail.count]) + transfer
    }
    tail = transfer.count < PacketHeader.size ? Array(held.suffix(PacketHeader.size - 1)) : []
    return nil
  }

  private static func isSign(_ bytes: ArraySlice<UInt8>) -> Bool {
    if bytes.starts(with: PacketWriter.detection) { return true }
    guard bytes.count >= PacketHeader.size, bytes.starts(with: [0xFF, 0x5A]) else { return false }
    let header = bytes.prefix(PacketHeader.size)
    return header.u16(at: 2, .big) >= PacketHeader.size && header.reduce(0, &+) == 0
      && header[header.startIndex + 4] & 0x07 == 0
  }
}

/// Reads frames recorded by Linux usbmon and extracts the bytes in each device's bulk and interrupt transfers.
///
/// ```
///  0  8  id of the transfer       10  1  endpoint, highest bit: to the host     28  4  status
///  8  1  'S', 'C' or 'E'          11  1  device                                32  4  length
///  9  1  kind: 1 interrupt,       12  2  bus                                   36  4  captured length
///        3 bulk                   14  1  0: has a setup packet                  (64 with the mapped header)
/// ```
///
/// Integers are in the byte order of the recording machine, which is deduced from the captured length.
struct USBFrames {
  let headerSize: Int

  func read(_ frame: CaptureFrame, _ emit: (StreamEvent) -> Void) {
    let bytes = frame.bytes
    guard bytes.count >= headerSize else { return }
    emit(.header(bytes.prefix(headerSize).indices))
    let first = bytes.startIndex
    let (event, kind) = (bytes[first + 8], bytes[first + 9])
    guard kind == 3 || kind == 1 else { return }
    let endpoint = bytes[first + 10]
    let isReceived = endpoint & 0x80 != 0
    // The data of an outgoing transfer is recorded when the transfer is submitted, and that of an incoming transfer
    // when it completes.
    guard event == (isReceived ? UInt8(ascii: "C") : UInt8(ascii: "S")) else { return }
    let order: ByteOrder = bytes.u32(at: 36, .little) <= frame.originalCount ? .little : .big
    let bus = bytes.u16(at: 12, order)
    let key = ConnectionKey(interface: frame.interface, place: bus << 8 | Int(bytes[first + 11]))
    let data = bytes.dropFirst(headerSize)
    let captured = bytes.u32(at: 36, order)
    let length = bytes.u32(at: 32, order)
    if captured < length || data.count < captured {
      let missing = length - min(captured, data.count)
      if missing > 0 { emit(.problem(key, "the recorder kept \(min(captured, data.count)) of \(length) bytes")) }
    }
    guard !data.isEmpty, captured > 0 else { return }
    let stream = StreamKey(connection: key.with(channel: Int(endpoint & 0x0F)), isReceived: isReceived)
    emit(.bytes(stream, data.prefix(captured), at: [data.prefix(captured).indices]))
  }
}

/// The positions of everything known in a capture file's frames: iAP2 bytes, the headers around them, and device
/// addresses and names. Bytes at any other position belong to other devices and services.
struct CapturePlaces {
  /// The bytes that one side of a connection sent, in order.
  struct Stream {
    /// Whether the bytes are transfers on a native channel, which do not contain packets.
    var isNative = false
    var pieces: [Range<Int>] = []
    fileprivate var sign = LinkSign()
    fileprivate var isLink = false
    /// The position of the stream's first byte, which determines the order of streams.
    fileprivate var start: Int { pieces.first?.lowerBound ?? 0 }
  }

  /// The streams that carry iAP2, and the streams of native channels.
  private(set) var streams: [Stream] = []
  /// Without the file's own headers.
  private(set) var frames: [Range<Int>] = []
  private(set) var headers: [Range<Int>] = []
  /// The addresses of Bluetooth devices, in reverse byte order.
  private(set) var addresses: [Range<Int>] = []
  /// The names of Bluetooth devices, padded with zeros.
  private(set) var names: [Range<Int>] = []

  private var interfaces: [CaptureInterface] = []
  private var bluetooth = BluetoothFrames()
  private var open: [StreamKey: Stream] = [:]

  init(_ bytes: [UInt8], as form: CaptureForm) throws(CaptureProblem) {
    guard var reader = form.reader else {
      throw CaptureProblem(offset: 0, message: "this file does not contain packets", isFinal: true)
    }
    var items: [CaptureFileItem] = []
    // The reader receives the whole file as one array, so the index of each byte in a frame is also its offset in the
    // file.
    reader.append(bytes) { items.append($0) }
    reader.finish { items.append($0) }
    for item in items {
      switch item {
      case .problem(let problem) where problem.isFinal: throw problem
      case .problem: break
      case .interface(let interface):
        if case .other(let number) = interface.linkType {
          throw CaptureProblem(offset: 0, message: "easim does not support the link type \(number)")
        }
        interfaces.append(interface)
      case .frame(let frame): read(frame)
      }
    }
    for stream in open.values { close(stream) }
    streams.sort { $0.start < $1.start }
  }

  private mutating func read(_ frame: CaptureFrame) {
    guard frame.interface < interfaces.count else { return }
    frames.append(frame.bytes.indices)
    let key = StreamKey(
      connection: ConnectionKey(interface: frame.interface), isReceived: frame.direction == .received)
    var events: [StreamEvent] = []
    let linkType = interfaces[frame.interface].linkType
    switch linkType {
    case .iap2, .nativeTransport:
      open[key, default: Stream(isNative: linkType == .nativeTransport, isLink: true)].pieces.append(
        frame.bytes.indices)
    case .usb(let headerSize): USBFrames(headerSize: headerSize).read(frame) { events.append($0) }
    case .bluetoothH4, .bluetoothH1, .bluetoothMonitor, .packetLogger:
      bluetooth.read(frame, linkType) { events.append($0) }
    case .other: break
    }
    for event in events { take(event) }
  }

  private mutating func take(_ event: StreamEvent) {
    switch event {
    case .bytes(let key, let bytes, let places):
      open[key, default: Stream()].pieces += places
      guard open[key]?.isLink == false, open[key]?.sign.find(in: bytes) != nil else { return }
      open[key]?.isLink = true
    case .over(let key, let isWholePlace):
      for (stream, found) in open where stream.connection.isEnded(by: key, isWholePlace: isWholePlace) {
        close(found)
        open[stream] = nil
      }
    case .header(let place): headers.append(place)
    case .address(let place): addresses.append(place)
    case .name(let place): names.append(place)
    case .problem: break
    }
  }

  private mutating func close(_ stream: Stream) { if stream.isLink { streams.append(stream) } }
}
