import AccessoryCore
import AccessorySessions
import AccessoryWorlds
import IAP2

/// Observes one end of a cable and passes its packets to all watches.
final class WireWatch: CableWitness {
  private let place: CableEnd
  private let loop: any EventLoop
  private let record: SoakRecord
  // A weak reference would slow down every use of the connection, so the reference ends with the channel, and a sentinel
  // shows whether this object, and with it the connection, is still in memory after the world has ended.
  private var owner: (any ChannelHandler)?
  private let sentinel = Sentinel()

  private final class Sentinel {}

  // Exclusivity checking is off because this code runs for every packet. A scanner calls only `sent` and `received`,
  // which do not use the property that holds the scanner.
  @exclusivity(unchecked) private var window: WindowWatch
  @exclusivity(unchecked) private var progress = LinkProgress()
  @exclusivity(unchecked) private var sending = PacketScanner()
  @exclusivity(unchecked) private var receiving: PacketScanner

  private init(at place: CableEnd, maximumLength: UInt16, _ record: SoakRecord, on loop: any EventLoop) {
    // The peer uses the same limit, so the watch and the peer recognize the same packets.
    receiving = PacketScanner(maximumLength: max(maximumLength, 128))
    (self.place, self.record, self.loop) = (place, record, loop)
    window = WindowWatch(end: place.end)
  }

  /// Wraps a channel in order to observe it. `maximumLength` is the length of the longest packet that this end accepts.
  /// Longer packets are not recognized.
  static func watch(
    _ channel: any Channel, at place: CableEnd, maximumLength: UInt16, _ record: SoakRecord, on loop: any EventLoop
  ) -> any Channel {
    record.leaks.watch(channel, "channel of cable", place.cable)
    let watch = WireWatch(at: place, maximumLength: maximumLength, record, on: loop)
    return WitnessedChannel(channel, at: place.end, by: watch, on: loop)
  }

  func began(_ owner: any ChannelHandler) {
    self.owner = owner
    record.leaks.watch(sentinel, "connection of cable", place.cable)
  }

  func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant) {
    let isSent = end == place.end
    record.hash.add(
      UInt64(bitPattern: time.nanoseconds) << 2 | (isSent ? 0 : 2) | (place.end == .device ? 1 : 0))
    record.hash.add(bytes)
    if isSent { sending.forEach(in: bytes, sent) } else { receiving.forEach(in: bytes, received) }
  }

  func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant) {
    if case .lost? = reason, place.end == .device { record.coverage[progress.cut] += 1 }
    finish()
  }

  // MARK: Observing

  private func sent(_ piece: PacketScanner.Piece, _ packet: RawSpan) {
    switch piece {
    case .packet(let header, _):
      let payload = packet.extracting(PacketHeader.size..<PacketHeader.size + header.payloadCount)
      progress.saw(header, payload: payload)
      if let wrong = window.sent(header, payload: payload) { complain(wrong.rule, wrong.text) }
      if header.control.contains(.rst) { record.coverage[.resetByDevice] += 1 }
    case .detection: progress = LinkProgress()
    case .legacy: break
    case .spoiled(let header, _): complain(.packets, "sent packet \(header.sequence) with a wrong checksum")
    case .skipped(let skipped): complain(.packets, "sent \(skipped)")
    }
  }

  private func received(_ piece: PacketScanner.Piece, _ packet: RawSpan) {
    switch piece {
    case .packet(let header, _):
      let payload = packet.extracting(PacketHeader.size..<PacketHeader.size + header.payloadCount)
      progress.saw(header, payload: payload)
      window.received(header, payload: payload)
    case .detection: progress = LinkProgress()
    case .spoiled, .legacy, .skipped: break
    }
  }

  private func complain(_ rule: SoakRule, _ what: String) {
    record.violation(rule, "cable \(place.cable): the \(place.end) \(what)", at: loop.now)
  }

  private func finish() {
    record.coverage[.zeroAcknowledgementLink] += window.linksWithoutAcknowledgements
    if let connection = owner as? Connection<DeviceRole> {
      record.coverage.add(connection.inspect { $0.core.counters })
    } else if let connection = owner as? Connection<AccessoryRole> {
      record.coverage.add(connection.inspect { $0.core.counters })
    }
    owner = nil
  }
}

/// How far the setup between the ends of a cable has progressed, according to the packets on the wire.
private struct LinkProgress {
  /// The corner case that is reached if the cable is cut at this moment.
  private(set) var cut = SoakCoverage.Corner.cutInDetection
  private var isAuthenticated = false
  private var isIdentified = false

  mutating func saw(_ header: PacketHeader, payload: RawSpan) {
    if header.control.contains(.syn) {
      self = LinkProgress()
      cut = .cutInSynchronization
      return
    }
    // A control message begins with its mark, two length bytes, and its message number.
    func byte(_ offset: Int) -> UInt8 { payload.unsafeLoad(fromByteOffset: offset, as: UInt8.self) }
    guard payload.byteCount >= 6, byte(0) == 0x40, byte(1) == 0x40 else { return }
    switch UInt16(byte(4)) << 8 | UInt16(byte(5)) {
    case 0xAA05:
      isAuthenticated = true
      cut = isIdentified ? .cutWhenReady : .cutInAuthentication
    case 0xAA00...0xAA04: cut = .cutInAuthentication
    case 0x1D02:
      isIdentified = true
      cut = isAuthenticated ? .cutWhenReady : .cutInIdentification
    case 0x1D00, 0x1D01, 0x1D03: cut = .cutInIdentification
    case 0xEA00: cut = .cutInSession
    case 0xEA01: cut = .cutWhenReady
    default: break
    }
  }
}
