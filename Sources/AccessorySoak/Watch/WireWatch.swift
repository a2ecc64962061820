import AccessoryCore
import AccessoryFaults
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

/// Observes the packets at one end of a cable and reports any link rules that the end breaks.
///
/// The watch uses only the packets that this end sends and receives. The watch does not use the link's state, so it
/// cannot share the link's bugs. The rules apply to what this end *sends*:
/// - no more unacknowledged packets than the peer allows;
/// - no packet longer than the peer allows;
/// - consecutive sequence numbers, and no numbered packet before both SYNs have been exchanged;
/// - no acknowledgement of packets that have not arrived. (Links without acknowledgements are exempt, because their
///   sequence numbers may wrap around while a packet is waiting to be sent.)
///
/// ```
///   idle ──SYN sent──▶ synchronizing ──anything else sent──▶ up ──SYN sent──▶ synchronizing
/// ```
struct WindowWatch {
  private enum State {
    case idle
    case synchronizing
    case up
  }

  private(set) var linksWithoutAcknowledgements = 0
  private let end: Cable.End
  private var state = State.idle
  private var synSequence: UInt8 = 0
  private var lastSent: UInt8 = 0
  private var acknowledged: UInt8 = 0
  private var ownParameters: LinkParameters?
  /// The peer's limits, according to the packets that this end has received.
  private var peerParameters: LinkParameters?
  private var lastInOrder: UInt8 = 0
  /// The sequence numbers of packets that arrived after a missing packet.
  private var ahead: [UInt8] = []
  /// Received SYNs that this end can still answer, newest last.
  private var offers: [(sequence: UInt8, parameters: LinkParameters)] = []

  init(end: Cable.End) {
    self.end = end
  }

  private var isZeroAcknowledgement: Bool {
    ownParameters?.isZeroAcknowledgement == true && peerParameters?.isZeroAcknowledgement == true
  }

  // MARK: Received

  mutating func received(_ header: PacketHeader, payload: RawSpan) {
    if header.control.contains(.syn) { return receivedSynchronization(header, payload) }
    if header.control.contains(.ack) {
      let distance = header.acknowledgement &- acknowledged
      if distance <= lastSent &- acknowledged { acknowledged = header.acknowledgement }
    }
    guard payload.byteCount > 0, !header.control.contains(.eak) else { return }
    switch header.sequence &- lastInOrder {
    case 1:
      lastInOrder = header.sequence
      while let index = ahead.firstIndex(of: lastInOrder &+ 1) { lastInOrder = ahead.remove(at: index) }
    case 2..<128 where !ahead.contains(header.sequence): ahead.append(header.sequence)
    default: break
    }
  }

  private mutating func receivedSynchronization(_ header: PacketHeader, _ payload: RawSpan) {
    guard let parameters = try? LinkParameters(reading: payload),
      parameters.valuesOutOfRange(isOffer: false).isEmpty
    else { return }
    switch end {
    case .device:
      offers.append((header.sequence, parameters))
      if offers.count > 16 { offers.removeFirst() }
    case .accessory:
      // The peer's SYN counts only if it answers a pending SYN from this end.
      guard state == .synchronizing, header.acknowledgement == synSequence else { return }
      peerParameters = parameters
      startReceiving(after: header.sequence)
    }
  }

  private mutating func startReceiving(after sequence: UInt8) {
    lastInOrder = sequence
    ahead.removeAll(keepingCapacity: true)
  }

  // MARK: Sent

  /// Returns the rule that a packet from this end breaks, or nil if it breaks none.
  mutating func sent(_ header: PacketHeader, payload: RawSpan) -> SoakViolation? {
    if header.control.contains(.syn) { return sentSynchronization(header, payload) }
    // Reset and sleep packets end the link, so their sequence numbers do not matter.
    if !header.control.isDisjoint(with: [.rst, .slp]) { return nil }
    guard let peer = peerParameters, state != .idle else {
      return SoakViolation(.numbering, "sent a packet (\(header.control)) before the link was synchronized")
    }
    if state != .up, isZeroAcknowledgement { linksWithoutAcknowledgements += 1 }
    state = .up
    let acknowledgement = isZeroAcknowledgement ? nil : wrongAcknowledgement(header)
    let number = payload.byteCount > 0 && !header.control.contains(.eak) ? wrongNumber(header, peer) : nil
    if Int(header.length) > Int(peer.maximumPacketLength) {
      return SoakViolation(
        .packetLength, "sent a packet of \(header.length) bytes; the other end accepts \(peer.maximumPacketLength)")
    }
    return acknowledgement ?? number
  }

  private func wrongAcknowledgement(_ header: PacketHeader) -> SoakViolation? {
    guard header.control.contains(.ack), lastInOrder &- header.acknowledgement >= 128 else { return nil }
    return SoakViolation(
      .acknowledgement,
      "acknowledged packet \(header.acknowledgement), but only \(lastInOrder) had arrived in order")
  }

  private mutating func wrongNumber(_ header: PacketHeader, _ peer: LinkParameters) -> SoakViolation? {
    let step = header.sequence &- lastSent
    // A retransmission may have any earlier sequence number.
    if !isZeroAcknowledgement, step == 0 || step >= 128 { return nil }
    defer { lastSent = header.sequence }
    guard step == 1 else {
      return SoakViolation(.numbering, "sent packet \(header.sequence) after packet \(lastSent)")
    }
    let window = max(1, peer.maximumOutstandingPackets)
    if !isZeroAcknowledgement, header.sequence &- acknowledged > window {
      return SoakViolation(
        .window,
        "has packets \(acknowledged &+ 1) to \(header.sequence) unacknowledged; the other end accepts \(window)")
    }
    return nil
  }

  private mutating func sentSynchronization(_ header: PacketHeader, _ payload: RawSpan) -> SoakViolation? {
    let parameters: LinkParameters
    do { parameters = try LinkParameters(reading: payload) } catch {
      return SoakViolation(.packets, "sent a SYN that cannot be used: \(error)")
    }
    if let value = parameters.valuesOutOfRange(isOffer: false).first {
      return SoakViolation(.packets, "sent a SYN that cannot be used: \(value.finding)")
    }
    if end == .device {
      guard let offer = offers.last(where: { $0.sequence == header.acknowledgement }) else {
        return SoakViolation(
          .acknowledgement, "answered a SYN with number \(header.acknowledgement), which never arrived")
      }
      peerParameters = offer.parameters
      startReceiving(after: offer.sequence)
    } else if state != .synchronizing || synSequence != header.sequence {
      peerParameters = nil
    }
    state = .synchronizing
    ownParameters = parameters
    synSequence = header.sequence
    lastSent = header.sequence
    acknowledged = header.sequence
    return nil
  }
}
