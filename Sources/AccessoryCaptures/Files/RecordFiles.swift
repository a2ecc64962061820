import AccessoryCore

/// A file format that consists of records, each with a header that contains the record's length: pcap, btsnoop or
/// PacketLogger.
protocol RecordFormat {
  init()

  /// How many bytes are needed before reading can begin, and how many of them precede the first record.
  static var beginning: (needed: Int, header: Int) { get }
  static var recordHeaderSize: Int { get }
  /// The message for a file that is too short. The file's length is appended to the message.
  static var shortFile: String { get }

  /// Returns why a file that begins with these bytes cannot have this format, or nil if it can.
  static func problem(of bytes: ArraySlice<UInt8>) -> String?

  mutating func begin(_ bytes: ArraySlice<UInt8>) -> CaptureInterface

  mutating func record(_ header: ArraySlice<UInt8>) -> RecordHeader?
}

struct RecordHeader {
  var count: Int
  var originalCount: Int
  var time: Int64
  var direction = CaptureDirection.unknown
  var flags = 0
  /// The number of packets that the recorder lost before this one.
  var lost = 0
}

struct RecordFileReader<Format: RecordFormat>: CaptureFileReader {
  private var format = Format()
  private var file = CaptureFileState()
  private var hasBegun = false

  mutating func append(_ bytes: [UInt8], _ emit: (CaptureFileItem) -> Void) {
    if file.isOver { return }
    file.append(bytes)
    if !hasBegun {
      if let problem = Format.problem(of: file.all) { return file.stop(problem, emit) }
      guard file.count >= Format.beginning.needed else { return }
      hasBegun = true
      emit(.interface(format.begin(file.all)))
      _ = file.take(Format.beginning.header)
    }
    while !file.isOver, file.count >= Format.recordHeaderSize {
      let offset = file.offset
      // The format changes only when a record is complete, because the header of an incomplete record is read again.
      var next = format
      guard let header = next.record(file.all.prefix(Format.recordHeaderSize)) else {
        return file.stop("a record has an impossible length; the rest is not read", emit)
      }
      guard header.count <= CaptureFileState.longestRecord else {
        return file.stop(
          "a record of \(header.count) bytes exceeds the limit of \(CaptureFileState.longestRecord); the rest is not read",
          emit)
      }
      guard file.count >= Format.recordHeaderSize + header.count else { return }
      format = next
      if header.lost > 0 {
        let message = "the recorder lost \(header.lost.counted("packet"))"
        emit(.problem(CaptureProblem(offset: offset, message: message)))
      }
      _ = file.take(Format.recordHeaderSize)
      file.add(
        CaptureFrame(
          offset: offset, interface: 0, time: header.time, direction: header.direction, flags: header.flags,
          originalCount: header.originalCount, bytes: file.take(header.count)), emit)
    }
  }

  mutating func finish(_ emit: (CaptureFileItem) -> Void) {
    if !hasBegun { return file.stop("\(Format.shortFile) \(file.count)", at: 0, emit) }
    guard file.count > 0 else { return }
    file.stop("the file ends in the middle of a record, after \(file.count.counted("byte"))", emit)
  }
}

/// pcap files in either byte order, with times in microseconds or nanoseconds.
struct PcapFormat: RecordFormat {
  static let magics: [[UInt8]] = [
    [0xD4, 0xC3, 0xB2, 0xA1], [0xA1, 0xB2, 0xC3, 0xD4], [0x4D, 0x3C, 0xB2, 0xA1], [0xA1, 0xB2, 0x3C, 0x4D],
  ]
  static let beginning = (needed: 24, header: 24)
  static let recordHeaderSize = 16
  static let shortFile = "a pcap header has 24 bytes, but the file has only"

  private var order = ByteOrder.little
  private var nanosecondsPerTick: Int64 = 1

  static func problem(of bytes: ArraySlice<UInt8>) -> String? {
    if bytes.count < 4 || magics.contains(Array(bytes.prefix(4))) { return nil }
    return "not a pcap file: it begins with \(Hex.spaced(bytes.prefix(4)))"
  }

  mutating func begin(_ bytes: ArraySlice<UInt8>) -> CaptureInterface {
    let magic = Self.magics.firstIndex(of: Array(bytes.prefix(4))) ?? 0
    (order, nanosecondsPerTick) = (magic % 2 == 0 ? .little : .big, magic < 2 ? 1_000 : 1)
    // The upper bits indicate whether frames end in checksums.
    return CaptureInterface(linkType: CaptureLinkType(pcap: bytes.u32(at: 20, order) & 0x0FFF_FFFF))
  }

  func record(_ header: ArraySlice<UInt8>) -> RecordHeader? {
    let fraction = Int64(header.u32(at: 4, order)) * nanosecondsPerTick
    return RecordHeader(
      count: header.u32(at: 8, order), originalCount: header.u32(at: 12, order),
      time: Int64(header.u32(at: 0, order)) * 1_000_000_000 + fraction)
  }
}

struct BtsnoopFormat: RecordFormat {
  static let magic = Array("btsnoop\0".utf8)
  static let beginning = (needed: 16, header: 16)
  static let recordHeaderSize = 24
  static let shortFile = "a btsnoop header has 16 bytes, but the file has only"
  /// The number of microseconds from the format's epoch, which is the year 0, to 1970.
  private static let yearZero: Int64 = 0x00DC_DDB3_0F2F_8000

  private var isMonitor = false
  /// The total number of packets that the recorder had lost when it wrote the most recent record.
  private var drops = 0

  static func problem(of bytes: ArraySlice<UInt8>) -> String? {
    if bytes.count < 8 || bytes.starts(with: magic) { return nil }
    return "not a btsnoop file: it begins with \(Hex.spaced(bytes.prefix(8)))"
  }

  mutating func begin(_ bytes: ArraySlice<UInt8>) -> CaptureInterface {
    let linkType: CaptureLinkType =
      switch bytes.u32(at: 12, .big) {
      case 1001: .bluetoothH1
      case 1002: .bluetoothH4(hasDirection: false)
      case 2001: .bluetoothMonitor(hasHeader: false)
      case let number: .other(number)
      }
    isMonitor = linkType == .bluetoothMonitor(hasHeader: false)
    return CaptureInterface(linkType: linkType, name: "bluetooth")
  }

  mutating func record(_ header: ArraySlice<UInt8>) -> RecordHeader? {
    let flags = header.u32(at: 8, .big)
    let dropped = header.u32(at: 12, .big)
    defer { drops = dropped }
    let microseconds = Int128(Int64(bitPattern: header.number(at: 16, 8, .big))) - Int128(Self.yearZero)
    return RecordHeader(
      count: header.u32(at: 4, .big), originalCount: header.u32(at: 0, .big),
      time: Int64(clamping: microseconds * 1_000),
      direction: isMonitor ? .unknown : flags & 1 == 0 ? .sent : .received, flags: flags, lost: dropped - drops)
  }
}

/// Files from Apple's PacketLogger (`.pklg`), in either byte order. PacketLogger files have no magic number.
struct PacketLoggerFormat: RecordFormat {
  static let beginning = (needed: 13, header: 0)
  static let recordHeaderSize = 13
  static let shortFile = "a PacketLogger file has at least 13 bytes, but this file has only"

  private var order = ByteOrder.big

  /// Returns whether a file that begins with `bytes` is a PacketLogger file, or nil if more bytes are needed to decide.
  static func recognizes(_ bytes: some Collection<UInt8>) -> Bool? {
    let bytes = Array(bytes.prefix(13))
    guard let first = bytes.first else { return nil }
    if first != 0, bytes.count >= 4 ? !(bytes[2] == 0 && bytes[3] == 0) : false { return false }
    return bytes.count < 13 ? nil : order(of: bytes[...]) != nil
  }

  private static func order(of bytes: ArraySlice<UInt8>) -> ByteOrder? {
    let type = bytes[bytes.startIndex + 12]
    return [ByteOrder.big, .little].first { order in
      // In every record, at least 9 bytes follow the length, and the fraction of a second is less than a million
      // microseconds.
      (9...65_600).contains(bytes.u32(at: 0, order)) && bytes.u32(at: 8, order) < 1_000_000
        && (type <= 0x0D || type >= 0xF7)
    }
  }

  static func problem(of bytes: ArraySlice<UInt8>) -> String? {
    if bytes.count < 13 || order(of: bytes) != nil { return nil }
    return "not a PacketLogger file: its first record is impossible"
  }

  mutating func begin(_ bytes: ArraySlice<UInt8>) -> CaptureInterface {
    order = Self.order(of: bytes) ?? .big
    return CaptureInterface(linkType: .packetLogger, name: "bluetooth")
  }

  func record(_ header: ArraySlice<UInt8>) -> RecordHeader? {
    let count = header.u32(at: 0, order)
    guard count >= 9 else { return nil }
    let type = Int(header[header.startIndex + 12])
    return RecordHeader(
      count: count - 9, originalCount: count - 9,
      time: Int64(header.u32(at: 4, order)) * 1_000_000_000 + Int64(header.u32(at: 8, order)) * 1_000,
      direction: [0, 2, 8].contains(type) ? .sent : [1, 3, 9].contains(type) ? .received : .unknown, flags: type)
  }
}

/// Reads pcapng files in either byte order, with any number of sections and interfaces.
struct PcapngReader: CaptureFileReader {
  /// The type of the block that starts a section. The type is the same in both byte orders.
  static let magic: [UInt8] = [0x0A, 0x0D, 0x0D, 0x0A]

  private static let mostInterfaces = 65_536

  private struct Interface {
    /// The interface's number, which is unique within the file.
    var number: Int
    var snapLength: Int
    /// The time resolution as encoded in the file. The lower seven bits of this byte are an exponent n, which stands for
    /// 10^-n seconds or, if the highest bit is set, for 2^-n seconds.
    var resolution: UInt8 = 6
    var secondsOffset: Int64 = 0

    func nanoseconds(_ ticks: UInt64) -> Int64 {
      let exponent = Int(resolution & 0x7F)
      let scaled = UInt128(ticks) * 1_000_000_000
      // No number of ticks reaches 10^38 nanoseconds.
      let divisor = (0..<min(exponent, 38)).reduce(UInt128(1)) { power, _ in power * 10 }
      let value = resolution & 0x80 != 0 ? scaled >> UInt128(exponent) : scaled / divisor
      return Int64(clamping: Int128(value) + Int128(secondsOffset) * 1_000_000_000)
    }
  }

  private var file = CaptureFileState()
  private var order: ByteOrder?
  private var interfaces: [Interface] = []
  private var interfaceCount = 0

  mutating func append(_ bytes: [UInt8], _ emit: (CaptureFileItem) -> Void) {
    if file.isOver { return }
    file.append(bytes)
    while !file.isOver, file.count >= 12 {
      let isSection = file.all.starts(with: Self.magic)
      if isSection {
        switch file.all.u32(at: 8, .little) {
        case 0x1A2B_3C4D: order = .little
        case 0x4D3C_2B1A: order = .big
        default: return file.stop("a section has no valid byte order; the rest is not read", emit)
        }
        interfaces = []
      }
      guard let order else {
        return file.stop("not a pcapng file: it begins with \(Hex.spaced(file.all.prefix(4)))", emit)
      }
      let count = file.all.u32(at: 4, order)
      guard count >= 12, count % 4 == 0 else {
        return file.stop("a block has the impossible length \(count); the rest is not read", emit)
      }
      guard count <= CaptureFileState.longestRecord else {
        return file.stop(
          "a block of \(count) bytes exceeds the limit of \(CaptureFileState.longestRecord); the rest is not read", emit
        )
      }
      guard file.count >= count else { return }
      let offset = file.offset
      let block = file.take(count)
      if block.u32(at: count - 4, order) != count {
        emit(.problem(CaptureProblem(offset: offset, message: "the two lengths of a block differ")))
      }
      let body = block[block.startIndex + 8..<block.endIndex - 4]
      read(block.u32(at: 0, order), body, at: offset, order, emit)
    }
  }

  mutating func finish(_ emit: (CaptureFileItem) -> Void) {
    guard !file.isOver else { return }
    if file.count > 0 {
      file.stop("the file ends in the middle of a block, after \(file.count.counted("byte"))", emit)
    } else if order == nil {
      file.stop("an empty pcapng file", emit)
    }
  }

  // MARK: Blocks

  private mutating func read(
    _ type: Int, _ body: ArraySlice<UInt8>, at offset: Int, _ order: ByteOrder, _ emit: (CaptureFileItem) -> Void
  ) {
    func problem(_ message: String) { emit(.problem(CaptureProblem(offset: offset, message: message))) }
    switch type {
    case 1: readInterface(body, at: offset, order, emit)
    case 2:
      guard body.count >= 20 else { return problem("a packet block is too short") }
      let drops = body.u16(at: 2, order)
      if drops > 0, drops != 0xFFFF { problem("the recorder lost \(drops.counted("packet"))") }
      readPacket(body, of: body.u16(at: 0, order), at: offset, order, emit)
    case 3:
      guard body.count >= 4, let interface = interfaces.first else {
        return problem(body.count < 4 ? "a packet block is too short" : "a packet precedes the first interface")
      }
      let original = body.u32(at: 0, order)
      let limit = interface.snapLength == 0 ? original : min(original, interface.snapLength)
      // A pcapng Simple Packet Block has no time.
      file.add(
        CaptureFrame(
          offset: offset, interface: interface.number, time: max(file.latest, 0), originalCount: original,
          bytes: body.dropFirst(4).prefix(limit)), emit)
    case 5:
      guard body.count >= 12, body.u32(at: 0, order) < interfaces.count else { return }
      PcapngOptions.read(body.dropFirst(12), order) { code, value in
        guard code == 5 || code == 7, value.count == 8 else { return }
        let count = Int(clamping: value.number(at: 0, 8, order))
        if count > 0 { problem("the recorder lost \(count.counted("packet"))") }
      }
    case 6:
      guard body.count >= 20 else { return problem("a packet block is too short") }
      readPacket(body, of: body.u32(at: 0, order), at: offset, order, emit)
    // All other blocks contain names, keys, or data from other programs.
    default: return
    }
  }

  private mutating func readInterface(
    _ body: ArraySlice<UInt8>, at offset: Int, _ order: ByteOrder, _ emit: (CaptureFileItem) -> Void
  ) {
    guard body.count >= 8 else {
      return emit(.problem(CaptureProblem(offset: offset, message: "an interface block is too short")))
    }
    guard interfaceCount < Self.mostInterfaces else {
      return file.stop("more than \(Self.mostInterfaces) interfaces; the rest is not read", emit)
    }
    var found = CaptureInterface(linkType: CaptureLinkType(pcap: body.u16(at: 0, order)))
    var interface = Interface(number: interfaceCount, snapLength: body.u32(at: 4, order))
    PcapngOptions.read(body.dropFirst(8), order) { code, value in
      switch code {
      case 2: found.name = PcapngOptions.text(value)
      case 3: found.description = PcapngOptions.text(value)
      case 9 where value.count == 1: interface.resolution = value[value.startIndex]
      case 14 where value.count == 8:
        interface.secondsOffset = Int64(bitPattern: value.number(at: 0, 8, order))
      default: break
      }
    }
    interfaceCount += 1
    interfaces.append(interface)
    emit(.interface(found))
  }

  private mutating func readPacket(
    _ body: ArraySlice<UInt8>, of interface: Int, at offset: Int, _ order: ByteOrder,
    _ emit: (CaptureFileItem) -> Void
  ) {
    func problem(_ message: String) { emit(.problem(CaptureProblem(offset: offset, message: message))) }
    guard interface < interfaces.count else {
      return problem("a packet refers to interface \(interface), but the section has only \(interfaces.count)")
    }
    let ticks = UInt64(body.u32(at: 4, order)) << 32 | UInt64(body.u32(at: 8, order))
    let count = body.u32(at: 12, order)
    let start = 20
    guard count <= body.count - start else {
      return problem("a packet of \(count) bytes is in a block with room for only \(body.count - start)")
    }
    var frame = CaptureFrame(
      offset: offset, interface: interfaces[interface].number,
      time: interfaces[interface].nanoseconds(ticks), originalCount: body.u32(at: 16, order),
      bytes: body.dropFirst(start).prefix(count))
    PcapngOptions.read(body.dropFirst(start + (count + 3) / 4 * 4), order) { code, value in
      switch code {
      case 1: frame.comments.append(PcapngOptions.text(value))
      case 2 where value.count == 4:
        switch value.u32(at: 0, order) & 3 {
        case 1: frame.direction = .received
        case 2: frame.direction = .sent
        default: break
        }
      case 4 where value.count == 8:
        let lost = Int(clamping: value.number(at: 0, 8, order))
        if lost > 0 { problem("the recorder lost \(lost.counted("packet")) before this one") }
      default: break
      }
    }
    file.add(frame, emit)
  }
}

private enum PcapngOptions {
  static func read(_ bytes: ArraySlice<UInt8>, _ order: ByteOrder, _ emit: (Int, ArraySlice<UInt8>) -> Void) {
    var rest = bytes
    while rest.count >= 4 {
      let code = rest.u16(at: 0, order)
      let count = rest.u16(at: 2, order)
      if code == 0 || rest.count - 4 < count { return }
      rest = rest.dropFirst(4)
      emit(code, rest.prefix(count))
      rest = rest.dropFirst((count + 3) / 4 * 4)
    }
  }

  /// Returns a name or comment, which is truncated if it is long.
  static func text(_ bytes: ArraySlice<UInt8>) -> String {
    var text = bytes.prefix(4_096)
    while text.last == 0 { text.removeLast() }
    return String(decoding: text, as: UTF8.self)
  }
}
