import AccessoryCore
import IAP2

/// Decodes the items in a capture file. Sorts frames by connection, detects the connections that carry iAP2, and
/// describes their packets.
///
/// Invariant: memory use is bounded. The decoder keeps at most ``mostCables`` cables, with one ``PacketCapture`` per
/// direction, and a few bytes for each of up to ``mostStreams`` other streams.
final class CaptureFileDecoder {
  private static let mostCables = 64
  private static let mostStreams = 4_096
  /// About 73 years. With this limit, the difference between two times cannot overflow.
  private static let longestTime: Int64 = 1 << 61

  private final class Cable {
    let number: Int
    let medium: Medium
    /// The bytes from and to the accessory, which is the USB device or the Bluetooth peer.
    let captures = [PacketCapture(), PacketCapture()]
    var narrator = PacketNarrator()

    init(_ number: Int, _ medium: Medium) {
      (self.number, self.medium) = (number, medium)
    }
  }

  private enum Medium {
    case cable
    case usb
    case bluetooth

    func mark(isReceived: Bool) -> String {
      switch self {
      case .cable: isReceived ? "A" : "D"
      case .usb: isReceived ? "IN" : "OUT"
      case .bluetooth: isReceived ? "RX" : "TX"
      }
    }
  }

  private enum State {
    case searching(LinkSign)
    case found(ConnectionKey)
  }

  private var reader: any CaptureFileReader
  private var interfaces: [CaptureInterface] = []
  private var bluetooth = BluetoothFrames()
  private var streams: [StreamKey: State] = [:]
  private var cables: [ConnectionKey: Cable] = [:]
  private var cableCount = 0
  private var first: Int64?
  private var others = OtherContents()
  private var number = 0
  private var now = Instant.origin
  private var place = 0

  init(_ reader: any CaptureFileReader) {
    self.reader = reader
  }

  func append(_ bytes: [UInt8], _ emit: (CaptureEntry) -> Void) {
    reader.append(bytes) { read($0, emit) }
  }

  func finish(_ emit: (CaptureEntry) -> Void) {
    reader.finish { read($0, emit) }
    for cable in cables.values.sorted(by: { $0.number < $1.number }) { finish(cable, emit) }
    cables = [:]
    for case .searching(let sign) in streams.values { others.add(sign) }
    streams = [:]
    if let text = others.text { emit(CaptureEntry(.others, at: .file(place), text)) }
  }

  // MARK: Items

  private func read(_ item: CaptureFileItem, _ emit: (CaptureEntry) -> Void) {
    switch item {
    case .interface(let interface): interfaces.append(interface)
    case .problem(let problem): emit(CaptureEntry(.problem, at: .file(problem.offset), problem.message))
    case .frame(let frame): read(frame, emit)
    }
  }

  private func read(_ frame: CaptureFrame, _ emit: (CaptureEntry) -> Void) {
    guard frame.interface < interfaces.count else { return }
    (number, place) = (frame.number, frame.offset)
    let first = first ?? frame.time
    self.first = first
    // A damaged file can contain any time.
    let since = frame.time.subtractingReportingOverflow(first)
    now = Instant(nanoseconds: since.overflow ? 0 : min(max(since.partialValue, -Self.longestTime), Self.longestTime))
    let interface = interfaces[frame.interface]
    for comment in frame.comments {
      let cable = cables[ConnectionKey(interface: frame.interface)]?.number ?? 0
      emit(
        CaptureEntry(
          .note, at: .packet(number, time: now, cable: cable, offset: 0), comment.printable,
          on: channel(frame, interface)))
    }
    switch interface.linkType {
    case .iap2, .nativeTransport:
      if frame.bytes.count < frame.originalCount {
        let kept = "only \(frame.bytes.count) of the \(frame.originalCount) bytes of packet \(number)"
        emit(CaptureEntry(.problem, at: .file(place), "the recorder kept \(kept)"))
      }
      if frame.bytes.isEmpty { return }
      let read = interface.linkType == .iap2 ? readLink : readTransfer
      read(frame, interface, emit)
    case .usb(let headerSize): USBFrames(headerSize: headerSize).read(frame) { take($0, .usb, emit) }
    case .bluetoothH4, .bluetoothH1, .bluetoothMonitor, .packetLogger:
      bluetooth.read(frame, interface.linkType) { take($0, .bluetooth, emit) }
    case .other(let number): others.add(linkType: number)
    }
  }

  private func readLink(
    _ frame: CaptureFrame, of interface: CaptureInterface, _ emit: (CaptureEntry) -> Void
  ) {
    let key = ConnectionKey(interface: frame.interface)
    let name = [interface.name, interface.description].filter { !$0.isEmpty }.joined(separator: ", ")
    let cable = cable(key, .cable, name.isEmpty ? "interface \(frame.interface)" : name, emit)
    pass(Array(frame.bytes), on: cable, isReceived: frame.direction == .received, emit)
  }

  private func readTransfer(
    _ frame: CaptureFrame, of interface: CaptureInterface, _ emit: (CaptureEntry) -> Void
  ) {
    let more = frame.bytes.count > 8 ? " …" : ""
    let name = interface.description.isEmpty ? interface.name : interface.description
    emit(
      CaptureEntry(
        .transfer, at: .packet(number, time: now, cable: 0, offset: 0),
        from: Medium.cable.mark(isReceived: frame.direction == .received),
        "SIDE \(name.printable) \(frame.bytes.count) bytes \(Hex.spaced(frame.bytes.prefix(8)))\(more)",
        bytes: Array(frame.bytes), on: channel(frame, interface)))
  }

  /// Returns the native channel that an interface carries, if any. A native channel's interface is named after the
  /// cable and the protocol.
  private func channel(_ frame: CaptureFrame, _ interface: CaptureInterface) -> CaptureEntry.NativeChannel? {
    guard interface.linkType == .nativeTransport else { return nil }
    let ending = " \(interface.description)"
    let cable = interface.name.hasSuffix(ending) ? String(interface.name.dropLast(ending.count)) : interface.name
    return .init(interface: frame.interface, cable: cable, protocolName: interface.description)
  }

  // MARK: Connections

  private func take(_ event: StreamEvent, _ medium: Medium, _ emit: (CaptureEntry) -> Void) {
    switch event {
    case .header, .address, .name: break
    case .bytes(let stream, let bytes, _): take(bytes, of: stream, medium, emit)
    case .over(let key, let isWholePlace): end(key, isWholePlace: isWholePlace, emit)
    case .problem(let key, let text):
      // Problems with connections that do not carry iAP2 are ignored.
      let concerns = cables.keys.contains { $0.interface == key.interface && $0.place == key.place }
      if concerns { emit(CaptureEntry(.problem, at: .file(place), "packet \(number): \(text)")) }
    }
  }

  private func take(
    _ bytes: ArraySlice<UInt8>, of stream: StreamKey, _ medium: Medium, _ emit: (CaptureEntry) -> Void
  ) {
    switch streams[stream] {
    case .found(let key)?:
      guard let cable = cables[key] else { return }
      pass(Array(bytes), on: cable, isReceived: stream.isReceived, emit)
    case let state:
      var sign = LinkSign()
      if case .searching(let known)? = state { sign = known }
      guard let bytes = sign.find(in: bytes) else {
        if state == nil, streams.count >= Self.mostStreams { return others.add(sign) }
        streams[stream] = .searching(sign)
        return
      }
      // All endpoints of a USB device count as one cable.
      let key = medium == .usb ? stream.connection.with(channel: 0) : stream.connection
      streams[stream] = .found(key)
      let cable = cable(key, medium, Self.name(of: key, medium), emit)
      pass(bytes, on: cable, isReceived: stream.isReceived, emit)
    }
  }

  private static func name(of key: ConnectionKey, _ medium: Medium) -> String {
    medium == .usb
      ? "USB bus \(key.place >> 8), device \(key.place & 0xFF)"
      : "Bluetooth handle \(key.place), RFCOMM channel \(key.channel >> 1)"
  }

  private func cable(
    _ key: ConnectionKey, _ medium: Medium, _ name: String, _ emit: (CaptureEntry) -> Void
  ) -> Cable {
    if let known = cables[key] { return known }
    if cables.count >= Self.mostCables, let oldest = cables.min(by: { $0.value.number < $1.value.number }) {
      finish(oldest.value, emit)
      cables[oldest.key] = nil
      streams = streams.filter { if case .found(let key) = $0.value { key != oldest.key } else { true } }
    }
    cableCount += 1
    let cable = Cable(cableCount, medium)
    cables[key] = cable
    emit(
      CaptureEntry(
        .cable, at: .packet(number, time: now, cable: cable.number, offset: 0),
        "CABLE \(cable.number): \(name.printable)"))
    return cable
  }

  private func end(_ key: ConnectionKey, isWholePlace: Bool, _ emit: (CaptureEntry) -> Void) {
    for stream in streams.keys where stream.connection.isEnded(by: key, isWholePlace: isWholePlace) {
      if case .searching(let sign)? = streams.removeValue(forKey: stream) { others.add(sign) }
    }
    for (found, cable) in cables where found.isEnded(by: key, isWholePlace: isWholePlace) {
      finish(cable, emit)
      cables[found] = nil
    }
  }

  // MARK: Packets

  private func pass(_ bytes: [UInt8], on cable: Cable, isReceived: Bool, _ emit: (CaptureEntry) -> Void) {
    let capture = cable.captures[isReceived ? 0 : 1]
    describe(capture.append(bytes), of: capture, cable, isReceived, emit)
  }

  private func finish(_ cable: Cable, _ emit: (CaptureEntry) -> Void) {
    for (side, capture) in cable.captures.enumerated() {
      describe(capture.finish(), of: capture, cable, side == 0, emit)
    }
  }

  private func describe(
    _ pieces: [PacketCapture.Piece], of capture: PacketCapture, _ cable: Cable, _ isReceived: Bool,
    _ emit: (CaptureEntry) -> Void
  ) {
    for piece in pieces {
      emit(
        CaptureEntry(
          piece, of: capture,
          at: .packet(number, time: now, cable: cable.number, offset: piece.range.lowerBound),
          from: cable.medium.mark(isReceived: isReceived), &cable.narrator))
    }
  }
}

/// Builds a one-line summary of everything in a capture file that is not iAP2.
private struct OtherContents {
  private var streams = 0
  private var transfers = 0
  private var bytes = 0
  private var packets: [Int: Int] = [:]

  mutating func add(_ sign: LinkSign) {
    streams += 1
    transfers += sign.transfers
    bytes += sign.bytes
  }

  mutating func add(linkType: Int) {
    // Real files contain few link types. All link types after the first sixteen are counted together.
    packets[packets.count < 16 || packets[linkType] != nil ? linkType : -1, default: 0] += 1
  }

  var text: String? {
    var parts: [String] = []
    if streams > 0 {
      parts.append(
        "\(streams.counted("stream")) with \(transfers.counted("transfer")), \(bytes.counted("byte"))")
    }
    for (linkType, count) in packets.sorted(by: { $0.key < $1.key }) {
      parts.append("\(count.counted("packet")) of \(linkType < 0 ? "other link types" : "link type \(linkType)")")
    }
    return parts.isEmpty ? nil : "not iAP2: \(parts.joined(separator: "; "))"
  }
}
