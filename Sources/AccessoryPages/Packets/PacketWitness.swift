import AccessoryCore
import AccessoryFaults
import IAP2

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
