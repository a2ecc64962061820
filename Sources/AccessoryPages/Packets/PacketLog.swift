import AccessoryCables
import AccessoryCore
import AccessoryFaults
import IAP2

/// The packets on a world's cables, as `packet.list` returns them.
///
/// Recording every packet costs time and memory, so recording starts only when a client requests it with
/// `packet.record`. Each cable's first packets are always kept. The first packets show how the accessory connected, and
/// they include the SYN, which defines the link sessions.
///
/// Invariant: the log keeps the newest packets, up to a number of packets and of bytes, or far fewer while recording is
/// off.
package final class PacketLog {
  /// How many packets are kept by default.
  package static let usualPackets = 100_000
  /// How many packets are kept for each cable even while recording is off.
  static let firstPackets = 96
  /// How much is kept in a world that has never been recorded. The limits are low, because there may be a thousand such
  /// worlds.
  private static let (quietPackets, quietBytes) = (2_000, 1 << 20)

  private let mostPackets: Int
  private let mostBytes: Int
  private var packets = Queue<LoggedPacket>()
  private var byteCount = 0
  private var cableCount = 0
  package private(set) var lastNumber = 0
  package var isRecording = false { didSet { hasRecorded = hasRecorded || isRecording } }
  private var hasRecorded = false
  /// Called after each packet.
  package var changed: () -> Void = {}

  package init(packets: Int = PacketLog.usualPackets, bytes: Int = 32 << 20) {
    (mostPackets, mostBytes) = (packets, bytes)
  }

  /// The number of the oldest packet in the log, or of the next packet if the log is empty.
  package var firstNumber: Int { lastNumber - packets.count + 1 }

  /// The key under which this log observes channels. Captures use positive keys.
  private static let key = 0
  /// The number of cables per accessory or address that the log remembers, so that it can match native channels with
  /// their cables.
  private static let cables = 64

  package func watch(_ taps: CableTaps, of owner: String) {
    var numbers: [Int: Int] = [:]
    taps.add(Self.key) { [unowned self] cable, protocolName in
      if numbers[cable] == nil {
        cableCount += 1
        numbers[cable] = cableCount
        numbers[cable - Self.cables] = nil
      }
      return witness(of: owner, cable: numbers[cable] ?? cableCount, protocolName: protocolName)
    }
  }

  /// Creates a witness for one channel of a cable. The caller gives each cable in the log a different number.
  package func witness(of owner: String, cable: Int, protocolName: String?) -> any CableWitness {
    PacketWitness(self, cable: cable, protocolName, of: owner)
  }

  /// Returns the packets that come after packet `number`, oldest first.
  package func packets(after number: Int, atMost count: Int) -> [LoggedPacket] {
    let start = min(max(0, number - (firstNumber - 1)), packets.count)
    return (start..<start + min(count, packets.count - start)).map { packets[$0] }
  }

  package func packet(_ number: Int) -> LoggedPacket? {
    let index = number - firstNumber
    return index >= 0 && index < packets.count ? packets[index] : nil
  }

  func add(_ packet: LoggedPacket) {
    var packet = packet
    lastNumber += 1
    packet.number = lastNumber
    packets.append(packet)
    byteCount += packet.bytes.count
    let (most, bytes) = hasRecorded ? (mostPackets, mostBytes) : (Self.quietPackets, Self.quietBytes)
    while packets.count > most || byteCount > bytes, let oldest = packets.popFirst() {
      byteCount -= oldest.bytes.count
    }
    changed()
  }
}

/// A packet that was sent over a cable, or consecutive bytes that are not part of a packet.
package struct LoggedPacket: Equatable, Sendable {
  package enum Event: String, CaseIterable, Sendable {
    case packet
    case spoiled
    case detection
    case iap1
    case skipped
    case transfer
    /// A fault affected the packet.
    case fault
  }

  package var number = 0
  package var time = Instant.origin
  package var cable = 0
  /// The ID of the accessory or host that the cable belongs to.
  package var accessory = ""
  package var from = Cable.End.accessory
  package var event: Event
  /// The protocol of the native channel on which the packet was sent, or nil if the packet was not sent on a native
  /// channel.
  package var channel: String?
  package var header: PacketHeader?
  /// What kind of data the packet's link session carries, or nil if the log does not contain the link's SYN.
  package var kind: LinkSession.Kind?
  /// The fault that affected the packet, as written for `--fault`.
  package var fault: String?
  /// Whether an earlier packet had this sequence number.
  package var isRepeated = false
  package var bytes: [UInt8] = []
  var told = Told.text("")

  init(_ event: Event, header: PacketHeader? = nil) { (self.event, self.header) = (event, header) }

  enum Told: Equatable {
    case text(String)
    /// The text is created only when it is needed, because few packets are ever displayed. The narrator has already
    /// seen the link's SYN.
    case packet(PacketNarrator, PacketHeader)
  }
}

extension LoggedPacket {
  package var text: String {
    switch told {
    case .text(let text): return text
    case .packet(var narrator, let header): return narrator.line(for: header, packet: bytes.span.bytes)
    }
  }

  package var messages: [MessageID] {
    guard event == .packet, case .packet(let narrator, let header) = told else { return [] }
    return narrator.messages(in: header, packet: bytes.span.bytes).map(\.id)
  }

  /// The maximum number of characters or bytes of session data to show.
  private static let shownText = 200
  private static let shownBytes = 16

  /// The External Accessory session whose data the packet carries, or nil if the packet carries no such data.
  package var externalSession: Int? {
    guard let data = externalData else { return nil }
    return Int(bytes[data.lowerBound - 2]) << 8 | Int(bytes[data.lowerBound - 1])
  }

  /// The session data in readable form: text in quotation marks, or the first few bytes in hex.
  package var data: String? {
    guard let range = externalData ?? (event == .transfer ? bytes.indices : nil), !range.isEmpty else { return nil }
    let isText = bytes[range].allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
    if isText, let text = String(validating: bytes[range], as: UTF8.self) {
      return "\"\(text.prefix(Self.shownText))\"" + (text.count > Self.shownText ? " …" : "")
    }
    return Hex.spaced(bytes[range].prefix(Self.shownBytes)) + (range.count > Self.shownBytes ? " …" : "")
  }

  private var externalData: Range<Int>? {
    guard kind == .externalAccessory, event != .spoiled, let header, header.payloadCount >= 2,
      header.control.isDisjoint(with: [.syn, .eak]), bytes.count >= PacketHeader.size + 3
    else { return nil }
    return PacketHeader.size + 2..<bytes.count - 1
  }
}

/// Records everything that is sent over one of a cable's channels.
final class PacketWitness: CableWitness {
  private unowned let log: PacketLog
  private let cable: Int
  private let protocolName: String?
  private let accessory: String
  /// How many more packets are recorded even while recording is off.
  private var left = PacketLog.firstPackets
  private var fromAccessory = Direction()
  private var fromDevice = Direction()
  private var narrator = PacketNarrator()

  private struct Direction: ~Copyable {
    var scanner = PacketScanner()
    /// True if bytes were skipped, in which case the next bytes may begin in the middle of a packet.
    var isTorn = false
    /// The sequence number of the newest packet that has a payload.
    var highest: UInt8?
  }

  init(_ log: PacketLog, cable: Int, _ protocolName: String?, of owner: String) {
    (self.log, self.cable, self.protocolName, accessory) = (log, cable, protocolName, owner)
  }

  func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant) {
    guard left > 0 || log.isRecording else {
      fromAccessory.isTorn = true
      fromDevice.isTorn = true
      return
    }
    if let protocolName {
      var entry = LoggedPacket(.transfer)
      entry.channel = protocolName
      return add(entry, .text("SIDE \(protocolName) \(bytes.byteCount.counted("byte"))"), bytes, end, time)
    }
    switch end {
    case .accessory: scan(bytes, &fromAccessory, end, time)
    case .device: scan(bytes, &fromDevice, end, time)
    }
  }

  func struck(_ bytes: RawSpan, by fault: String, from end: Cable.End, at time: Instant) {
    guard protocolName == nil, left > 0 || log.isRecording else { return }
    var scanner = PacketScanner()
    var told = PacketNarrator()
    swap(&told, &narrator)
    scanner.forEach(in: bytes) { piece, packet in
      var entry = LoggedPacket(.fault)
      entry.fault = fault
      switch piece {
      case .packet(let header, _):
        (entry.header, entry.kind) = (header, told.kind(of: header.session))
        add(entry, .packet(told, header), packet, end, time)
      case .spoiled(let header, _):
        entry.header = header
        add(entry, .text(told.spoiledLine(for: header)), packet, end, time)
      case .detection, .legacy, .skipped:
        add(entry, .text("\(packet.byteCount.counted("byte"))"), packet, end, time)
      }
    }
    swap(&told, &narrator)
  }

  private func scan(_ bytes: RawSpan, _ direction: inout Direction, _ end: Cable.End, _ time: Instant) {
    let isTorn = direction.isTorn
    if isTorn { direction = Direction() }
    var highest = direction.highest
    direction.scanner.forEach(in: bytes) { piece, packet in
      switch piece {
      case .packet(let header, _): add(header, packet, &highest, end, time)
      case .spoiled(let header, _):
        add(LoggedPacket(.spoiled, header: header), .text(narrator.spoiledLine(for: header)), packet, end, time)
      case .detection: add(LoggedPacket(.detection), .text("DETECT"), packet, end, time)
      case .legacy: add(LoggedPacket(.iap1), .text(narrator.legacyLine(packet)), packet, end, time)
      // These bytes belong to a packet whose beginning was skipped.
      case .skipped where isTorn: break
      case .skipped(let skipped): add(LoggedPacket(.skipped), .text("SKIPPED \(skipped)"), packet, end, time)
      }
    }
    direction.highest = highest
  }

  private func add(
    _ header: PacketHeader, _ packet: RawSpan, _ highest: inout UInt8?, _ end: Cable.End, _ time: Instant
  ) {
    var entry = LoggedPacket(.packet, header: header)
    // The SYN tells the narrator which sessions the link has.
    if header.control.contains(.syn) { _ = narrator.line(for: header, packet: packet) }
    entry.kind = narrator.kind(of: header.session)
    if header.control.contains(.syn) {
      highest = header.sequence
    } else if header.payloadCount > 0, header.control.isDisjoint(with: [.eak, .rst, .slp]) {
      // Sequence numbers wrap around, so the 128 numbers up to and including the newest one count as earlier.
      entry.isRepeated = highest.map { $0 &- header.sequence < 128 } ?? false
      if !entry.isRepeated { highest = header.sequence }
    }
    add(entry, .packet(narrator, header), packet, end, time)
  }

  private func add(
    _ entry: LoggedPacket, _ told: LoggedPacket.Told, _ bytes: RawSpan, _ end: Cable.End, _ time: Instant
  ) {
    var entry = entry
    left = max(0, left - 1)
    (entry.time, entry.cable, entry.accessory, entry.from) = (time, cable, accessory, end)
    (entry.told, entry.bytes) = (told, bytes.withUnsafeBytes { [UInt8]($0) })
    log.add(entry)
  }
}
