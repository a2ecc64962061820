import AccessoryCables
import IAP2

@testable import AccessoryCaptures

/// Files and frames written by hand, byte by byte, to test the readers.
enum Fixture {
  /// Captured packets: detection, a SYN, the answer to the SYN, StartIdentification, and EA00.
  static let vectors: [[UInt8]] = [
    "ff550200ee10", "ff5a001a80011000fc01050400138800ff1e0301000102020134",
    "ff5a001ac04001008c01050400138800ff1e0301000102020134", "ff5a00104041010114404000061d005d",
    "ff5a001b404304010440400011ea0000050000b1000600010001c7",
  ].map { (try? Hex.parse($0)) ?? [] }
  static let texts = [
    "DETECT",
    "SYN seq=1 ack=16 window=5 length=1024 timeout=5000 hold=255 repeats=30 acks=3 sessions=1:control,2:accessory",
    "SYN+ACK seq=64 ack=1 window=5 length=1024 timeout=5000 hold=255 repeats=30 acks=3 sessions=1:control,2:accessory",
    "DATA seq=65 ack=1 session=1 1D00 StartIdentification",
    "DATA seq=67 ack=4 session=1 EA00 StartExternalAccessoryProtocolSession protocol=177 session=1",
  ]
  static let isFromAccessory = [true, true, false, false, false]

  static func number(_ value: Int, _ count: Int, _ order: ByteOrder) -> [UInt8] {
    let little = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    return order == .little ? little : little.reversed()
  }

  // MARK: Files

  static func pcap(
    _ order: ByteOrder = .little, nanoseconds: Bool = false, linkType: Int = 147, _ frames: [[UInt8]]
  ) -> [UInt8] {
    var bytes = number(nanoseconds ? 0xA1B2_3C4D : 0xA1B2_C3D4, 4, order)
    bytes += number(2, 2, order) + number(4, 2, order) + number(0, 4, order) + number(0, 4, order)
    bytes += number(65_535, 4, order) + number(linkType, 4, order)
    for (index, frame) in frames.enumerated() {
      bytes += number(1_700_000_000, 4, order) + number((index + 1) * (nanoseconds ? 1_000_000 : 1_000), 4, order)
      bytes += number(frame.count, 4, order) + number(frame.count, 4, order) + frame
    }
    return bytes
  }

  static func pcapng(_ kind: PcapngWriter.Kind = .iap2) -> [UInt8] {
    var writer = PcapngWriter(program: "tests")
    var bytes = writer.begin(comments: ["made by hand"])
    bytes += writer.interface(named: "unix:/tmp/a", description: "Lawk View", kind)
    for (index, vector) in vectors.enumerated() {
      bytes += writer.packet(
        vector.span.bytes, on: 0, at: Int64(index) * 1_000_000, from: isFromAccessory[index] ? .accessory : .device)
    }
    return bytes
  }

  static func block(_ type: Int, _ order: ByteOrder, _ body: [UInt8]) -> [UInt8] {
    let padded = body + [UInt8](repeating: 0, count: (4 - body.count % 4) % 4)
    let count = number(padded.count + 12, 4, order)
    return number(type, 4, order) + count + padded + count
  }

  static func section(_ order: ByteOrder) -> [UInt8] {
    block(
      0x0A0D_0D0A, order,
      number(0x1A2B_3C4D, 4, order) + number(1, 2, order) + number(0, 2, order) + [UInt8](repeating: 0xFF, count: 8))
  }

  static func interface(_ order: ByteOrder, linkType: Int, snapLength: Int = 0, options: [UInt8] = []) -> [UInt8] {
    block(1, order, number(linkType, 2, order) + number(0, 2, order) + number(snapLength, 4, order) + options)
  }

  static func enhanced(
    _ order: ByteOrder, on interface: Int, at ticks: Int, _ bytes: [UInt8], options: [UInt8] = []
  ) -> [UInt8] {
    let padding = [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    let times = number(ticks >> 32, 4, order) + number(ticks & 0xFFFF_FFFF, 4, order)
    let lengths = number(bytes.count, 4, order) + number(bytes.count, 4, order)
    return block(6, order, number(interface, 4, order) + times + lengths + bytes + padding + options)
  }

  static func btsnoop(_ dataLink: Int, _ frames: [(flags: Int, bytes: [UInt8])], drops: Int = 0) -> [UInt8] {
    var bytes = Array("btsnoop\0".utf8) + number(1, 4, .big) + number(dataLink, 4, .big)
    for (index, frame) in frames.enumerated() {
      bytes += number(frame.bytes.count, 4, .big) + number(frame.bytes.count, 4, .big) + number(frame.flags, 4, .big)
      bytes += number(drops, 4, .big) + number(0x00DC_DDB3_0F2F_8000 + (index + 1) * 1_000, 8, .big) + frame.bytes
    }
    return bytes
  }

  static func packetLogger(_ order: ByteOrder, _ frames: [(type: Int, bytes: [UInt8])]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (index, frame) in frames.enumerated() {
      bytes += number(frame.bytes.count + 9, 4, order) + number(1_700_000_000, 4, order)
      bytes += number((index + 1) * 1_000, 4, order) + [UInt8(frame.type)] + frame.bytes
    }
    return bytes
  }

  // MARK: Frames

  static func usb(_ event: Character, endpoint: UInt8, device: UInt8, _ data: [UInt8], length: Int? = nil) -> [UInt8] {
    var bytes = number(7, 8, .little) + [event.asciiValue ?? 0, 3, endpoint, device]
    bytes += number(2, 2, .little) + [1, 0] + [UInt8](repeating: 0, count: 16)
    bytes += number(length ?? data.count, 4, .little) + number(data.count, 4, .little)
    return bytes + [UInt8](repeating: 0, count: 64 - bytes.count) + data
  }

  static func rfcomm(link: Int, credits: UInt8? = nil, control: UInt8 = 0xEF, _ information: [UInt8]) -> [UInt8] {
    let address = UInt8(link << 2 | 3)
    let count = information.count
    let length = count < 128 ? [UInt8(count << 1 | 1)] : [UInt8(count << 1 & 0xFE), UInt8(count >> 7)]
    let header = [address, credits == nil ? control : control | 0x10]
    let checked = control & ~0x10 == 0xEF ? header : header + [length[0]]
    return header + length + (credits.map { [$0] } ?? []) + information + [RFCOMMFrame.checksum(checked)]
  }

  static func l2cap(_ channel: Int, _ payload: [UInt8]) -> [UInt8] {
    number(payload.count, 2, .little) + number(channel, 2, .little) + payload
  }

  static func acl(_ handle: Int, isReceived: Bool, size: Int = 1_021, _ payload: [UInt8]) -> [[UInt8]] {
    stride(from: 0, to: payload.count, by: size).map { start in
      let part = payload[start..<min(start + size, payload.count)]
      let boundary = start > 0 ? 1 : isReceived ? 2 : 0
      return number(handle | boundary << 12, 2, .little) + number(part.count, 2, .little) + part
    }
  }

  static func bluetooth(handle: Int = 0x2A, size: Int = 11) -> [(isReceived: Bool, bytes: [UInt8])] {
    zip(vectors, isFromAccessory).enumerated().flatMap { index, entry in
      let frame = rfcomm(link: 6, credits: index == 1 ? 3 : nil, entry.0)
      let channel = entry.1 ? 0x40 : 0x41
      return acl(handle, isReceived: entry.1, size: size, l2cap(channel, frame)).map { (entry.1, $0) }
    }
  }

  static func texts(_ capture: DecodedCapture) -> [String] {
    capture.entries.filter { $0.header != nil || $0.event == .detection }.map(\.text)
  }

  static func problems(_ capture: DecodedCapture) -> [String] {
    capture.entries.filter { $0.event == .problem }.map(\.line)
  }
}

struct DecodedCapture {
  let decoder: CaptureDecoder
  private(set) var entries: [CaptureEntry] = []

  /// Decodes `input`, which arrives in chunks of `size` bytes.
  init(_ input: [UInt8], as form: CaptureForm? = nil, by size: Int = .max) throws(CaptureError) {
    decoder = CaptureDecoder(as: form)
    var rest = input[...]
    while !rest.isEmpty {
      try decoder.append(Array(rest.prefix(size))) { entries.append($0) }
      rest = rest.dropFirst(size)
    }
    try decoder.finish { entries.append($0) }
  }

  var form: CaptureForm? { decoder.form }
  var isSound: Bool { decoder.summary.isSound }
  var summary: String { decoder.summary.text }
}

extension Recording {
  init(_ entries: [CaptureEntry]) throws(RecordingError) {
    var reader = RecordingReader()
    for entry in entries { try reader.add(entry) }
    self = try reader.finish()
  }
}

struct HexDump {
  private(set) var streams: [String] = []
  private(set) var runs: [HexDumpReader.Run] = []

  init(_ text: [UInt8]) throws(CaptureError) {
    var reader = HexDumpReader()
    var cutter = LineCutter()
    try cutter.take(text) { line throws(CaptureError) in try reader.read(line) }
    try cutter.finish { line throws(CaptureError) in try reader.read(line) }
    for (run, times) in reader.takeRuns(isEnd: true) { runs += [HexDumpReader.Run](repeating: run, count: times) }
    streams = reader.names
  }
}
