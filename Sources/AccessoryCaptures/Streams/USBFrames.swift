/// Reads frames of Linux's usbmon: the bytes of bulk and interrupt transfers, by device.
///
/// ```
///  0  8  id of the transfer       10  1  endpoint, highest bit: to the host     28  4  status
///  8  1  'S', 'C' or 'E'          11  1  device                                32  4  length
///  9  1  kind: 1 interrupt,       12  2  bus                                   36  4  captured length
///        3 bulk                   14  1  0: has a setup packet                  (64 with the mapped header)
/// ```
///
/// Numbers are in the byte order of the machine that recorded; it is found by the captured length.
struct USBFrames {
  let headerSize: Int

  func read(_ frame: CaptureFrame, _ give: (StreamEvent) -> Void) {
    let bytes = frame.bytes
    guard bytes.count >= headerSize else { return }
    let first = bytes.startIndex
    let (event, kind) = (bytes[first + 8], bytes[first + 9])
    guard kind == 3 || kind == 1 else { return }
    let endpoint = bytes[first + 10]
    let isReceived = endpoint & 0x80 != 0
    // What is sent is in the request, and what is received in its completion.
    guard event == (isReceived ? UInt8(ascii: "C") : UInt8(ascii: "S")) else { return }
    let order: ByteOrder = bytes.u32(at: 36, .little) <= frame.originalCount ? .little : .big
    let bus = bytes.u16(at: 12, order)
    let key = ConnectionKey(interface: frame.interface, place: bus << 8 | Int(bytes[first + 11]))
    let data = bytes.dropFirst(headerSize)
    let captured = bytes.u32(at: 36, order)
    let length = bytes.u32(at: 32, order)
    if captured < length || data.count < captured {
      let missing = length - min(captured, data.count)
      if missing > 0 { give(.problem(key, "the recorder kept \(min(captured, data.count)) of \(length) bytes")) }
    }
    guard !data.isEmpty, captured > 0 else { return }
    let piece = StreamPiece(
      key: key.with(channel: Int(endpoint & 0x0F)), isReceived: isReceived, bytes: data.prefix(captured))
    give(.bytes(piece))
  }
}

extension ConnectionKey {
  func with(channel: Int) -> ConnectionKey {
    var key = self
    key.channel = channel
    return key
  }
}
