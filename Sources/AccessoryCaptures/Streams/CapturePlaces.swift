import AccessoryCore

/// The positions of everything known in a capture file's frames: iAP2 bytes, the headers around them, and device
/// addresses and names. Bytes at any other position belong to other devices and services.
package struct CapturePlaces {
  /// The bytes that one side of a connection sent, in order.
  package struct Stream {
    /// Whether the bytes are transfers on a native channel, which do not contain packets.
    package var isNative = false
    /// The positions of the bytes in the file.
    package var pieces: [Range<Int>] = []
    fileprivate var sign = LinkSign()
    fileprivate var isLink = false
    /// The position of the stream's first byte, which determines the order of streams.
    fileprivate var start: Int { pieces.first?.lowerBound ?? 0 }
  }

  /// The streams that carry iAP2, and the streams of native channels.
  package private(set) var streams: [Stream] = []
  /// The positions of the frames, not including the file's own headers.
  package private(set) var frames: [Range<Int>] = []
  /// The parts of frames that contain only protocol structure.
  package private(set) var headers: [Range<Int>] = []
  /// The addresses of Bluetooth devices, in reverse byte order.
  package private(set) var addresses: [Range<Int>] = []
  /// The names of Bluetooth devices, padded with zeros.
  package private(set) var names: [Range<Int>] = []

  private var interfaces: [CaptureInterface] = []
  private var bluetooth: [Int: BluetoothFrames] = [:]
  private var open: [StreamKey: Stream] = [:]

  /// Reads a whole file.
  ///
  /// - Throws: ``CaptureProblem`` if the file is damaged or contains an unknown kind of frame.
  package init(_ bytes: [UInt8], as form: CaptureForm) throws(CaptureProblem) {
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
      var reader = bluetooth.removeValue(forKey: frame.interface) ?? BluetoothFrames(interface: frame.interface)
      reader.read(frame, linkType) { events.append($0) }
      bluetooth[frame.interface] = reader
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
