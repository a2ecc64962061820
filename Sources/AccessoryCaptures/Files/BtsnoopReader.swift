import AccessoryCore

/// Reads btsnoop files, as Android and BlueZ write them.
struct BtsnoopReader: CaptureFileReader {
  /// The first bytes of a file.
  static let magic = Array("btsnoop\0".utf8)
  /// Microseconds between the year 0, from which the format counts, and 1970.
  private static let yearZero: Int64 = 0x00DC_DDB3_0F2F_8000

  private var file = RecordFile()
  private var linkType: CaptureLinkType?
  private var drops = 0

  mutating func append(_ bytes: [UInt8], _ give: (CaptureFileItem) -> Void) {
    if file.isOver { return }
    file.window.append(bytes)
    if linkType == nil {
      if file.window.count >= 8, !file.window.all.starts(with: Self.magic) {
        return file.stop(at: 0, "not a btsnoop file: it begins with \(Hex.spaced(file.window.all.prefix(8)))", give)
      }
      guard file.window.count >= 16 else { return }
      begin(file.window.take(16), give)
    }
    guard let linkType else { return }
    var lost: [(offset: Int, count: Int)] = []
    let start = file.window.offset
    var drops = self.drops
    file.takeRecords(headerSize: 24, give) { header in
      let flags = header.u32(at: 8, .big)
      let dropped = header.u32(at: 12, .big)
      if dropped > drops { lost.append((start, dropped - drops)) }
      drops = dropped
      let microseconds = Int64(bitPattern: header.number(at: 16, 8, .big)).subtractingReportingOverflow(Self.yearZero)
      let time = microseconds.partialValue.multipliedReportingOverflow(by: 1_000)
      let isMonitor = linkType == .bluetoothMonitor(hasHeader: false)
      return RecordFile.Header(
        count: header.u32(at: 4, .big), originalCount: header.u32(at: 0, .big),
        time: microseconds.overflow || time.overflow ? 0 : time.partialValue,
        direction: isMonitor ? .unknown : flags & 1 == 0 ? .sent : .received, flags: flags)
    }
    self.drops = drops
    for (offset, count) in lost {
      give(.problem(CaptureProblem(offset: offset, message: "the recorder lost \(count.counted("packet"))")))
    }
  }

  private mutating func begin(_ header: ArraySlice<UInt8>, _ give: (CaptureFileItem) -> Void) {
    let linkType: CaptureLinkType =
      switch header.u32(at: 12, .big) {
      case 1001: .bluetoothH1
      case 1002: .bluetoothH4(hasDirection: false)
      case 2001: .bluetoothMonitor(hasHeader: false)
      case let number: .other(number)
      }
    self.linkType = linkType
    give(.interface(CaptureInterface(number: 0, linkType: linkType, name: "bluetooth")))
  }

  mutating func finish(_ give: (CaptureFileItem) -> Void) {
    if linkType == nil, !file.isOver {
      return file.stop(at: 0, "the header of a btsnoop file has 16 bytes, and the file has \(file.window.count)", give)
    }
    file.finish(give)
  }
}

/// Reads the files of Apple's PacketLogger (`.pklg`), in both byte orders.
struct PacketLoggerReader: CaptureFileReader {
  private var file = RecordFile()
  private var order: ByteOrder?

  /// Whether a file that begins with `bytes` is one: it has no magic number. Nil while too little is known.
  static func recognizes(_ bytes: some Collection<UInt8>) -> Bool? {
    let bytes = Array(bytes.prefix(13))
    guard let first = bytes.first else { return nil }
    if first != 0, bytes.count >= 4 ? !(bytes[2] == 0 && bytes[3] == 0) : false { return false }
    if bytes.count < 13 { return nil }
    return order(of: bytes) != nil
  }

  private static func order(of bytes: [UInt8]) -> ByteOrder? {
    for order in [ByteOrder.big, .little] {
      let count = bytes.u32(at: 0, order)
      // A record's header behind the length has 9 bytes; a fraction of a second is below a million.
      let isRecord = (9...65_600).contains(count) && bytes.u32(at: 8, order) < 1_000_000
      if isRecord, bytes[12] <= 0x0D || bytes[12] >= 0xF7 { return order }
    }
    return nil
  }

  mutating func append(_ bytes: [UInt8], _ give: (CaptureFileItem) -> Void) {
    if file.isOver { return }
    file.window.append(bytes)
    if order == nil {
      guard file.window.count >= 13 else { return }
      guard let found = Self.order(of: Array(file.window.all.prefix(13))) else {
        return file.stop(at: 0, "not a PacketLogger file: its first record is impossible", give)
      }
      order = found
      give(.interface(CaptureInterface(number: 0, linkType: .packetLogger, name: "bluetooth")))
    }
    guard let order else { return }
    file.takeRecords(headerSize: 13, give) { header in
      let count = header.u32(at: 0, order)
      guard count >= 9 else { return nil }
      let type = Int(header[header.startIndex + 12])
      let time = Int64(header.u32(at: 4, order)) * 1_000_000_000 + Int64(header.u32(at: 8, order)) * 1_000
      return RecordFile.Header(
        count: count - 9, originalCount: count - 9, time: time,
        direction: [0, 2, 8].contains(type) ? .sent : [1, 3, 9].contains(type) ? .received : .unknown, flags: type)
    }
  }

  mutating func finish(_ give: (CaptureFileItem) -> Void) {
    if order == nil, !file.isOver {
      return file.stop(at: 0, "a PacketLogger file has at least 13 bytes, and this has \(file.window.count)", give)
    }
    file.finish(give)
  }
}
