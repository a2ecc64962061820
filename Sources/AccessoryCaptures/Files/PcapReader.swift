import AccessoryCore

/// Reads pcap files: both byte orders, microseconds and nanoseconds.
struct PcapReader: CaptureFileReader {
  private struct Form {
    var order: ByteOrder
    var nanosecondsPerTick: Int64
  }

  /// The first bytes of each form of a file.
  static let magics: [[UInt8]] = [
    [0xD4, 0xC3, 0xB2, 0xA1], [0xA1, 0xB2, 0xC3, 0xD4], [0x4D, 0x3C, 0xB2, 0xA1], [0xA1, 0xB2, 0x3C, 0x4D],
  ]
  private var file = RecordFile()
  private var form: Form?

  mutating func append(_ bytes: [UInt8], _ give: (CaptureFileItem) -> Void) {
    if file.isOver { return }
    file.window.append(bytes)
    if form == nil {
      if file.window.count >= 4, !Self.magics.contains(Array(file.window.all.prefix(4))) {
        return file.stop(at: 0, "not a pcap file: it begins with \(Hex.spaced(file.window.all.prefix(4)))", give)
      }
      guard file.window.count >= 24 else { return }
      begin(file.window.take(24), give)
    }
    guard let form else { return }
    file.takeRecords(headerSize: 16, give) { header in
      let seconds = Int64(header.u32(at: 0, form.order))
      let fraction = Int64(header.u32(at: 4, form.order)) * form.nanosecondsPerTick
      return RecordFile.Header(
        count: header.u32(at: 8, form.order), originalCount: header.u32(at: 12, form.order),
        time: seconds * 1_000_000_000 + fraction)
    }
  }

  private mutating func begin(_ header: ArraySlice<UInt8>, _ give: (CaptureFileItem) -> Void) {
    let magic = Self.magics.firstIndex(of: Array(header.prefix(4))) ?? 0
    let form = Form(order: magic % 2 == 0 ? .little : .big, nanosecondsPerTick: magic < 2 ? 1_000 : 1)
    self.form = form
    // The upper bits say whether frames end in checksums.
    let linkType = header.u32(at: 20, form.order) & 0x0FFF_FFFF
    give(.interface(CaptureInterface(number: 0, linkType: CaptureLinkType(pcap: linkType))))
  }

  mutating func finish(_ give: (CaptureFileItem) -> Void) {
    if form == nil, !file.isOver {
      return file.stop(at: 0, "the header of a pcap file has 24 bytes, and the file has \(file.window.count)", give)
    }
    file.finish(give)
  }
}
