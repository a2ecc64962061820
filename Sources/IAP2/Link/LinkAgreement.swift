/// What both ends of a link hold to once it is up.
public struct LinkAgreement: Hashable, Sendable {
  /// How many unacknowledged packets the other end can take.
  public var peerMaximumOutstandingPackets: UInt8
  /// The longest packet the other end can take.
  public var peerMaximumPacketLength: UInt16
  /// The number of packets this end announced that it can take.
  public var maximumOutstandingPackets: UInt8
  /// The longest packet this end announced that it can take.
  public var maximumPacketLength: UInt16
  /// When an unacknowledged packet is sent again.
  public var retransmissionTimeout: Milliseconds
  /// How long an acknowledgement may be held back.
  public var cumulativeAcknowledgementTimeout: Milliseconds
  /// How often a packet is repeated before the link is given up.
  public var maximumRetransmissions: UInt8
  /// How many packets may arrive before one must be acknowledged.
  public var maximumCumulativeAcknowledgements: UInt8
  /// No acknowledgements, no repetitions, no window.
  public var isZeroAcknowledgement: Bool
  /// The sessions both ends have.
  public var sessions: [LinkSession]

  /// `ours` and `theirs` as announced; the recovery values of `theirs` hold, and the sessions that both know.
  init(ours: LinkParameters, theirs: LinkParameters) {
    peerMaximumOutstandingPackets = theirs.maximumOutstandingPackets
    peerMaximumPacketLength = theirs.maximumPacketLength
    maximumOutstandingPackets = ours.maximumOutstandingPackets
    maximumPacketLength = ours.maximumPacketLength
    retransmissionTimeout = Milliseconds(Int64(theirs.retransmissionTimeout))
    cumulativeAcknowledgementTimeout = Milliseconds(Int64(theirs.cumulativeAcknowledgementTimeout))
    maximumRetransmissions = theirs.maximumRetransmissions
    maximumCumulativeAcknowledgements = theirs.maximumCumulativeAcknowledgements
    isZeroAcknowledgement = theirs.isZeroAcknowledgement
    sessions = ours.sessions.filter { own in theirs.sessions.contains { $0.id == own.id && $0.kind == own.kind } }
  }

  /// The most payload that one packet to the other end may carry.
  public var maximumPayload: Int { Int(peerMaximumPacketLength) - PacketHeader.overhead }

  /// The number of the session of a kind, if the link has one.
  public func session(_ kind: LinkSession.Kind) -> UInt8? {
    sessions.first { $0.kind == kind }?.id
  }
}

/// Why a link is down.
public enum LinkEnd: Error, Equatable, Sendable {
  /// A packet was repeated as often as agreed and never acknowledged.
  case unanswered(sequence: UInt8, retransmissions: UInt8)
  /// The device reset the link.
  case reset
  /// The device sent the link to sleep.
  case asleep
  /// The other end began detection or synchronisation anew.
  case restarted
  /// No answer to detection, after so many sequences.
  case undetected(attempts: Int)
  /// No usable answer to SYN, after so many.
  case unsynchronized(attempts: Int)
  /// The device supports only iAP1; the frame it answered with.
  case legacyDevice(frame: [UInt8])
  /// The other end's SYN cannot be used.
  case unusable(LinkParametersError)
}

extension LinkEnd: CustomStringConvertible {
  /// A sentence fragment for messages: "the device reset the link".
  public var description: String {
    switch self {
    case .unanswered(let sequence, let count):
      "packet \(sequence) was retransmitted \(count) times and never acknowledged"
    case .reset: "the device reset the link"
    case .asleep: "the device put the link to sleep"
    case .restarted: "the other end restarted the link"
    case .undetected(let attempts): "no answer to \(attempts) detection sequences"
    case .unsynchronized(let attempts): "no answer to \(attempts) SYN packets"
    case .legacyDevice(let frame): "the device speaks iAP1 only (it answered \(Hex.spaced(frame)))"
    case .unusable(let error): error.description
    }
  }
}

extension Link {
  /// The values that every packet needs, from the agreement and from what is known about the line.
  struct Terms {
    var isUp = false
    var isZeroAcknowledgement = false
    var sendWindow = 0
    var receiveWindow: UInt8 = 0
    var maximumPayload = 0
    /// Of External Accessory data, which may go in shorter packets than control messages.
    var maximumDataPayload = 0
    var cumulativeLimit = 1
    var retransmissionLimit: UInt8 = 0
    var retransmissionTimeout: Milliseconds = 0
    var acknowledgementTimeout: Milliseconds = 0

    /// The terms of a link that is down.
    init() {}

    init(_ phase: Phase, _ settings: LinkSettings) {
      guard case .established(let agreement) = phase else { return }
      let allowance = settings.allowance(timeout: agreement.retransmissionTimeout)
      let longest = min(allowance?.length ?? .max, Int(agreement.peerMaximumPacketLength))
      isUp = true
      isZeroAcknowledgement = agreement.isZeroAcknowledgement
      // A window of 0 comes from an offer without acknowledgements that was declined: one packet is the least there is.
      sendWindow =
        agreement.isZeroAcknowledgement
        ? .max : max(1, min(Int(agreement.peerMaximumOutstandingPackets), allowance?.packets(of: longest) ?? .max))
      receiveWindow = agreement.maximumOutstandingPackets
      maximumPayload = agreement.maximumPayload
      maximumDataPayload = longest - PacketHeader.overhead
      // A sender never waits for more packets than may be outstanding.
      cumulativeLimit = max(
        1, Int(min(agreement.maximumCumulativeAcknowledgements, agreement.maximumOutstandingPackets)))
      retransmissionLimit = agreement.maximumRetransmissions
      retransmissionTimeout = agreement.retransmissionTimeout
      acknowledgementTimeout = agreement.cumulativeAcknowledgementTimeout
    }
  }
}

/// How much may be in flight in each direction on a line that is known to be slow: what it carries in half the agreed
/// retransmission timeout.
///
/// The timeout is fixed when the link is made, and starts when a packet is handed to the line, however long it then
/// waits for earlier packets. With an Apple device's window of 127 packets of 65,535 bytes, a continuous writer fills a
/// line of 7,500 bytes a second for minutes; so every packet is late and sent again, and the repetitions delay the
/// others. iAP2 does not measure the line, but each end may announce fewer and shorter packets, and send fewer than
/// the other accepts. The other half of the timeout is left for acknowledgements, which wait behind data of the other
/// direction.
struct LineAllowance {
  /// Certificates and identifications fit one packet of this length.
  private static let leastLength = 2_048

  private let bytes: Int

  /// What may be in flight on a line of this rate.
  init(bytesPerSecond: Int, timeout: Milliseconds) {
    let (product, overflows) = bytesPerSecond.multipliedReportingOverflow(by: Int(timeout.count))
    bytes = overflows ? .max : product / 2_000
  }

  /// The longest packet: a few of them fit, so that one can be acknowledged while others are in flight.
  var length: Int { min(max(bytes / 4, Self.leastLength), Int(UInt16.max)) }

  func packets(of length: Int) -> Int { max(1, bytes / min(length, self.length)) }

  /// Announcements that keep what the other end sends to this.
  func limiting(_ parameters: LinkParameters) -> LinkParameters {
    var limited = parameters
    limited.maximumPacketLength = UInt16(min(length, Int(parameters.maximumPacketLength)))
    limited.maximumOutstandingPackets = UInt8(
      min(packets(of: Int(limited.maximumPacketLength)), Int(parameters.maximumOutstandingPackets)))
    return limited
  }
}

extension LinkSettings {
  /// What may be in flight when packets are sent again after `timeout` milliseconds; nil when the line's rate is
  /// unknown.
  func allowance(timeout: Milliseconds) -> LineAllowance? {
    guard let lineRate, lineRate > 0, timeout.count > 0 else { return nil }
    return LineAllowance(bytesPerSecond: lineRate, timeout: timeout)
  }

  /// What an accessory offers instead of `parameters` where the line is slow. It may ask for no more packets to one
  /// acknowledgement than may be outstanding.
  func offer(_ parameters: LinkParameters) -> LinkParameters {
    guard let allowance = allowance(timeout: Milliseconds(Int64(parameters.retransmissionTimeout))) else {
      return parameters
    }
    var offer = allowance.limiting(parameters)
    offer.maximumCumulativeAcknowledgements = min(
      offer.maximumCumulativeAcknowledgements, offer.maximumOutstandingPackets)
    return offer
  }
}
