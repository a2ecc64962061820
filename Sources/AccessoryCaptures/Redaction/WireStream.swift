import IAP2

/// The bytes that one side sent, collected from the whole file. The stream finds and replaces the secrets in messages,
/// and corrects the checksums.
///
/// Packets are sorted because a message can span several packets. All copies of a retransmitted packet are changed.
/// Damaged packets and bytes outside packets are overwritten so that a decoder still reports the same damage.
struct WireStream {
  /// Whether the bytes are transfers on a native channel, which do not contain packets.
  let isNative: Bool
  private(set) var bytes: [UInt8] = []
  private var original: [UInt8] = []
  private var layout = WireLayout()

  init(isNative: Bool = false) { self.isNative = isNative }

  mutating func append(_ more: some Collection<UInt8>) -> Range<Int> {
    let start = bytes.count
    bytes += more
    return start..<bytes.count
  }

  mutating func collect(into names: inout SecretNames) {
    original = bytes
    layout = isNative ? WireLayout(native: 0..<bytes.count) : WireLayout(bytes)
    for value in layout.values { names.add(text(value), value.kind) }
  }

  /// Returns the value. If the value is text, the terminating zeros are removed.
  private func text(_ value: WireLayout.Value) -> [UInt8] {
    var found = gather(value.ranges, of: original)
    while value.isText, found.last == 0 { found.removeLast() }
    return found
  }

  private func gather(_ ranges: [Range<Int>], of bytes: [UInt8]) -> [UInt8] { ranges.flatMap { bytes[$0] } }

  private mutating func scatter(_ new: [UInt8], _ ranges: [Range<Int>]) {
    var start = 0
    for range in ranges where start < new.count {
      let count = min(range.count, new.count - start)
      bytes.replaceSubrange(range.lowerBound..<range.lowerBound + count, with: new[start..<start + count])
      start += count
    }
  }

  mutating func rewrite(_ names: inout SecretNames) {
    for value in layout.values {
      if let name = names.name(of: text(value)) { scatter(name, value.ranges) }
    }
    for ranges in [layout.control] + Array(layout.data.values) {
      var all = gather(ranges, of: bytes)
      if names.replace(in: &all, isText: false) { scatter(all, ranges) }
    }
    if !names.kept.contains(.payload) {
      for ranges in layout.data.values { blank(ranges, where: { _ in true }) }
    }
    // The bytes FF, 5A and 55 are kept so that a decoder reports the same damage. Zeros are kept because they are
    // padding.
    blank(layout.damaged) { ![0x00, 0x55, 0x5A, 0xFF].contains($0) }
    for (copy, first) in layout.copies {
      for offset in 0..<copy.count {
        let difference = original[copy.lowerBound + offset] ^ original[first.lowerBound + offset]
        bytes[copy.lowerBound + offset] = bytes[first.lowerBound + offset] ^ difference
      }
    }
    for (payload, place) in layout.checksums {
      let before = original[payload].reduce(0, &+)
      let after = bytes[payload].reduce(0, &+)
      bytes[place] = original[place] &- (after &- before)
    }
  }

  private mutating func blank(_ ranges: [Range<Int>], where isBlanked: (UInt8) -> Bool) {
    for range in ranges {
      for place in range where isBlanked(original[place]) { bytes[place] = UInt8(ascii: "x") }
    }
  }
}

/// The positions of secrets, data and checksums among the bytes that one side sent.
struct WireLayout {
  struct Value {
    let kind: SecretKind
    let isText: Bool
    let ranges: [Range<Int>]
  }

  private(set) var values: [Value] = []
  private(set) var control: [Range<Int>] = []
  /// The positions of External Accessory data and file transfers, by session.
  private(set) var data: [Int: [Range<Int>]] = [:]
  /// The positions of each retransmitted payload and of its first transmission.
  private(set) var copies: [(copy: Range<Int>, first: Range<Int>)] = []
  private(set) var checksums: [(payload: Range<Int>, place: Int)] = []
  /// The positions of bytes outside intact packets.
  private(set) var damaged: [Range<Int>] = []

  private var kinds: [UInt8: UInt8] = [:]
  private var expected: UInt8?
  /// Packets that arrived before a packet with a lower sequence number, by sequence number.
  private var ahead: [UInt8: (header: PacketHeader, payload: Range<Int>)] = [:]
  /// The payload of the most recent packet with each sequence number.
  private var sent: [UInt8: Range<Int>] = [:]
  /// The parts of an incomplete control message that have been received so far.
  private var message: [Range<Int>] = []

  init() {}

  /// Creates the layout of transfers on a native channel, which contain no packets.
  init(native range: Range<Int>) { data[-1] = [range] }

  init(_ bytes: [UInt8]) {
    let capture = PacketCapture()
    let pieces = capture.append(bytes) + capture.finish()
    var spoiled: [(header: PacketHeader, payload: Range<Int>)] = []
    for piece in pieces {
      let inside = piece.range.dropFirst(PacketHeader.size)
      switch piece.kind {
      case .packet(let header) where header.payloadCount > 0:
        let payload = inside.lowerBound..<piece.range.upperBound - 1
        checksums.append((payload, piece.range.upperBound - 1))
        take(header, payload, bytes)
      case .packet, .detection: break
      case .spoiled(let header):
        let payload = inside.lowerBound..<piece.range.upperBound - 1
        checksums.append((payload, piece.range.upperBound - 1))
        // A damaged packet is usually retransmitted intact.
        spoiled.append((header, payload))
      case .unfinished: damaged.append(inside)
      case .legacy:
        // An iAP1 frame ends with the same kind of checksum as an iAP2 packet.
        let payload = piece.range.dropFirst(5).dropLast()
        guard !payload.isEmpty else { break }
        checksums.append((payload, piece.range.upperBound - 1))
        damaged.append(payload)
      case .message:
        message = []
        add(piece.range, bytes)
      case .skipped: damaged.append(piece.range)
      }
    }
    flush(bytes)
    for (header, payload) in spoiled {
      if let twin = twins[Twin(header)]?.last(where: { $0.count == payload.count }) {
        copies.append((payload, twin))
      } else {
        damaged.append(payload)
      }
    }
    damaged += message
  }

  private struct Twin: Hashable {
    let sequence: UInt8
    let session: UInt8

    init(_ header: PacketHeader) { (sequence, session) = (header.sequence, header.session) }
  }

  private var twins: [Twin: [Range<Int>]] = [:]

  // MARK: Packets

  private mutating func take(_ header: PacketHeader, _ payload: Range<Int>, _ bytes: [UInt8]) {
    if header.control.contains(.syn) { return begin(header, payload, bytes) }
    guard header.control.isDisjoint(with: [.eak, .rst, .slp]) else { return }
    twins[Twin(header), default: []].append(payload)
    if let first = sent[header.sequence], isBehind(header.sequence), bytes[first] == bytes[payload] {
      copies.append((payload, first))
      return
    }
    if let expected, header.sequence != expected, header.sequence &- expected < 128, ahead.count < 127 {
      ahead[header.sequence] = (header, payload)
      return
    }
    deliver(header, payload, bytes)
    while let expected, let next = ahead.removeValue(forKey: expected) { deliver(next.header, next.payload, bytes) }
  }

  private func isBehind(_ sequence: UInt8) -> Bool {
    expected.map { sequence &- $0 >= 128 || ahead[sequence] != nil } ?? false
  }

  /// Handles a SYN. A SYN starts a new link and declares what the link's sessions carry.
  private mutating func begin(_ header: PacketHeader, _ payload: Range<Int>, _ bytes: [UInt8]) {
    flush(bytes)
    (expected, sent) = (header.sequence &+ 1, [:])
    damaged += message
    message = []
    var place = payload.lowerBound + 10
    while place + 3 <= payload.upperBound {
      kinds[bytes[place]] = bytes[place + 1]
      place += 3
    }
  }

  /// Processes, in order, the packets that follow a missing packet.
  private mutating func flush(_ bytes: [UInt8]) {
    while !ahead.isEmpty {
      let start = expected ?? 0
      guard let next = ahead.keys.min(by: { $0 &- start < $1 &- start }), let found = ahead.removeValue(forKey: next)
      else { return }
      damaged += message
      message = []
      deliver(found.header, found.payload, bytes)
    }
  }

  private mutating func deliver(_ header: PacketHeader, _ payload: Range<Int>, _ bytes: [UInt8]) {
    expected = header.sequence &+ 1
    sent[header.sequence] = payload
    // If the capture contains no SYN, a control session is recognized by the first bytes of a message.
    let begins = bytes[payload].starts(with: [0x40, 0x40])
    switch kinds[header.session] ?? (begins || !message.isEmpty ? 0 : 2) {
    case 0: add(payload, bytes)
    case 2 where payload.count >= 2:
      let session = Int(bytes[payload.lowerBound]) << 8 | Int(bytes[payload.lowerBound + 1])
      data[session, default: []].append(payload.dropFirst(2))
    default: data[-2 - Int(header.session), default: []].append(payload.dropFirst(2))
    }
  }

  // MARK: Messages

  private mutating func add(_ range: Range<Int>, _ bytes: [UInt8]) {
    control.append(range)
    message.append(range)
    while true {
      let head = message.part(0..<6).flatMap { bytes[$0] }
      guard head.count == 6 else { return }
      let count = Int(head[2]) << 8 | Int(head[3])
      guard head.starts(with: [0x40, 0x40]), count >= 6 else {
        damaged += message
        message = []
        return
      }
      let whole = message.part(0..<count)
      guard whole.reduce(0, { $0 + $1.count }) == count else { return }
      message = message.part(count..<Int.max)
      let id = UInt16(head[4]) << 8 | UInt16(head[5])
      let known = MessageCatalog.entry(MessageID(rawValue: id))?.parameters ?? []
      read(whole.part(6..<count), id, [], known, bytes)
    }
  }

  private mutating func read(
    _ ranges: [Range<Int>], _ message: UInt16, _ path: [UInt16], _ known: [MessageCatalog.ParameterEntry],
    _ bytes: [UInt8]
  ) {
    var rest = ranges
    while !rest.isEmpty {
      let head = rest.part(0..<4).flatMap { bytes[$0] }
      let count = head.count == 4 ? Int(head[0]) << 8 | Int(head[1]) : 0
      let value = rest.part(4..<max(4, count))
      guard count >= 4, value.reduce(4, { $0 + $1.count }) == count else {
        // The remaining bytes are not valid parameters, so all of them are replaced.
        return values.append(Value(kind: .other, isText: false, ranges: rest))
      }
      rest = rest.part(count..<Int.max)
      let id = UInt16(head[2]) << 8 | UInt16(head[3])
      let entry = known.first { $0.id == id }
      let place = ParameterPlace(message: message, path: path + [id], entry: entry)
      if let entry, entry.kind == .group {
        read(value, message, path + [id], entry.group, bytes)
      } else if count > 4, let kind = place.kind(count: count - 4) {
        let last = value.last.map { bytes[$0.upperBound - 1] }
        values.append(Value(kind: kind, isText: entry?.kind == .utf8 || entry == nil && last == 0, ranges: value))
      }
    }
  }
}
