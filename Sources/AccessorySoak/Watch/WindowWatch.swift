import AccessoryCore
import AccessoryFaults
import IAP2

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
