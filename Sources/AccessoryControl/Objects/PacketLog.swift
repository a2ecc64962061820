import AccessoryCables
import AccessoryCore
import AccessoryFaults
import IAP2

/// The packets on the cables of a world, as `packet.list` shows them.
///
/// Recording every packet costs time and memory, so it happens only after a client has asked for it (`packet.record`).
/// The first packets of each cable are always kept: they show how an accessory connected, and without its SYN a link's
/// sessions could not be told apart.
///
/// Invariant: at most ``Limits/packets`` packets with a total of at most ``Limits/bytes`` bytes are kept, the newest
/// ones, and far fewer while nothing is recorded.
final class PacketLog {
  /// How much is kept.
  struct Limits: Equatable, Sendable {
    var packets = 100_000
    var bytes = 32 << 20
    /// For each cable, even while nothing is recorded.
    var firstPackets = 96
    /// For a world in which nothing was ever recorded: there may be a thousand of these.
    var quietPackets = 2_000
    var quietBytes = 1 << 20
  }

  private let limits: Limits
  private var packets = Queue<LoggedPacket>()
  private var byteCount = 0
  private var cableCount = 0
  private(set) var lastNumber = 0
  /// Whether all packets are recorded.
  var isRecording = false { didSet { hasRecorded = hasRecorded || isRecording } }
  private var hasRecorded = false
  /// Called after each packet.
  var changed: () -> Void = {}

  init(_ limits: Limits = Limits()) { self.limits = limits }

  /// The number of the oldest packet that is kept; one more than the last if there is none.
  var firstNumber: Int { lastNumber - packets.count + 1 }

  /// Captures use the keys from 1 up.
  private static let key = 0
  /// For how many cables of an owner the native channels can be found by the cable's number.
  private static let cables = 64

  /// Observes the cables of an accessory or of an address.
  func watch(_ taps: CableTaps, of owner: String) {
    var numbers: [Int: Int] = [:]
    taps.add(Self.key) { [unowned self] cable, protocolName in
      if numbers[cable] == nil {
        cableCount += 1
        numbers[cable] = cableCount
        numbers[cable - Self.cables] = nil
      }
      return PacketWitness(
        self, cable: numbers[cable] ?? cableCount, protocolName, of: owner, atLeast: limits.firstPackets)
    }
  }

  /// The packets after a number, oldest first.
  func packets(after number: Int, atMost count: Int) -> [LoggedPacket] {
    let start = min(max(0, number - (firstNumber - 1)), packets.count)
    return (start..<start + min(count, packets.count - start)).map { packets[$0] }
  }

  func packet(_ number: Int) -> LoggedPacket? {
    let index = number - firstNumber
    return index >= 0 && index < packets.count ? packets[index] : nil
  }

  fileprivate func add(_ packet: LoggedPacket) {
    var packet = packet
    lastNumber += 1
    packet.number = lastNumber
    packets.append(packet)
    byteCount += packet.bytes.count
    let most = hasRecorded ? limits.packets : limits.quietPackets
    let mostBytes = hasRecorded ? limits.bytes : limits.quietBytes
    while packets.count > most || byteCount > mostBytes, let oldest = packets.popFirst() {
      byteCount -= oldest.bytes.count
    }
    changed()
  }
}

/// One packet, or other bytes that passed a cable.
struct LoggedPacket: Equatable, Sendable {
  enum Event: String, CaseIterable, Sendable {
    case packet
    case spoiled
    case detection
    case iap1
    case skipped
    case transfer
  }

  var number = 0
  var time = Instant.origin
  var cable = 0
  /// The id of the accessory, or of the host whose address the accessory is at.
  var accessory = ""
  var from = Cable.End.accessory
  var event = Event.packet
  /// For a transfer, the protocol of its native channel.
  var channel: String?
  var header: PacketHeader?
  /// What the packet's session carries, if its SYN was seen.
  var kind: LinkSession.Kind?
  /// Whether a packet with this number was seen before.
  var isRepeated = false
  var text = ""
  var messages: [MessageID] = []
  var bytes: [UInt8] = []
}

/// Records what passes one channel of a cable.
private final class PacketWitness: CableWitness {
  private unowned let log: PacketLog
  private let cable: Int
  private let protocolName: String?
  private let accessory: String
  private var left: Int
  private var fromAccessory = Direction()
  private var fromDevice = Direction()
  private var narrator = PacketNarrator()

  private struct Direction: ~Copyable {
    var scanner = PacketScanner()
    /// Whether bytes were skipped, so that the next ones may begin inside a packet.
    var isTorn = false
    /// The numbers of the last packets that carried a payload.
    var highest: UInt8?
  }

  init(_ log: PacketLog, cable: Int, _ protocolName: String?, of owner: String, atLeast: Int) {
    (self.log, self.cable, self.protocolName, accessory, left) = (log, cable, protocolName, owner, atLeast)
  }

  func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant) {
    guard left > 0 || log.isRecording else {
      fromAccessory.isTorn = true
      fromDevice.isTorn = true
      return
    }
    if let protocolName {
      var entry = LoggedPacket()
      (entry.event, entry.channel) = (.transfer, protocolName)
      return add(&entry, "SIDE \(protocolName) \(bytes.byteCount.counted("byte"))", bytes, end, time)
    }
    switch end {
    case .accessory: scan(bytes, &fromAccessory, end, time)
    case .device: scan(bytes, &fromDevice, end, time)
    }
  }

  private func scan(_ bytes: RawSpan, _ direction: inout Direction, _ end: Cable.End, _ time: Instant) {
    let isTorn = direction.isTorn
    if isTorn { direction = Direction() }
    var highest = direction.highest
    direction.scanner.forEach(in: bytes) { piece, packet in
      switch piece {
      case .packet(let header, _): add(header, packet, &highest, end, time)
      case .spoiled(let header, _): spoiled(header, packet, end, time)
      case .detection: add(.detection, "DETECT", packet, end, time)
      case .legacy: add(.iap1, narrator.legacyLine(packet), packet, end, time)
      // The rest of a packet whose beginning was skipped.
      case .skipped where isTorn: break
      case .skipped(let skipped): add(.skipped, "SKIPPED \(skipped)", packet, end, time)
      }
    }
    direction.highest = highest
  }

  private func add(
    _ header: PacketHeader, _ packet: RawSpan, _ highest: inout UInt8?, _ end: Cable.End, _ time: Instant
  ) {
    var entry = LoggedPacket()
    entry.header = header
    // First, because the narrator learns the sessions from a SYN.
    let line = narrator.line(for: header, packet: packet)
    entry.kind = narrator.kind(of: header.session)
    entry.messages = narrator.messages(in: header, packet: packet).map(\.id)
    if header.control.contains(.syn) {
      highest = header.sequence
    } else if header.payloadCount > 0, header.control.isDisjoint(with: [.eak, .rst, .slp]) {
      // Half of the possible numbers precede the newest one.
      entry.isRepeated = highest.map { $0 &- header.sequence < 128 } ?? false
      if !entry.isRepeated { highest = header.sequence }
    }
    add(&entry, line, packet, end, time)
  }

  private func spoiled(_ header: PacketHeader, _ packet: RawSpan, _ end: Cable.End, _ time: Instant) {
    var entry = LoggedPacket()
    (entry.event, entry.header) = (.spoiled, header)
    add(&entry, narrator.spoiledLine(for: header), packet, end, time)
  }

  private func add(
    _ event: LoggedPacket.Event, _ text: String, _ bytes: RawSpan, _ end: Cable.End, _ time: Instant
  ) {
    var entry = LoggedPacket()
    entry.event = event
    add(&entry, text, bytes, end, time)
  }

  private func add(
    _ entry: inout LoggedPacket, _ text: String, _ bytes: RawSpan, _ end: Cable.End, _ time: Instant
  ) {
    left = max(0, left - 1)
    (entry.time, entry.cable, entry.accessory, entry.from) = (time, cable, accessory, end)
    (entry.text, entry.bytes) = (text, bytes.withUnsafeBytes { [UInt8]($0) })
    log.add(entry)
  }
}
