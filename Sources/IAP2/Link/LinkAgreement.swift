/// The values that both ends of an established link observe.
public struct LinkAgreement: Hashable, Sendable {
  /// How many unacknowledged packets the other end accepts.
  public var peerMaximumOutstandingPackets: UInt8
  /// The longest packet that the other end accepts.
  public var peerMaximumPacketLength: UInt16
  /// How many packets this end announced that it accepts.
  public var maximumOutstandingPackets: UInt8
  /// The longest packet that this end announced it accepts.
  public var maximumPacketLength: UInt16
  /// How long an unacknowledged packet waits before it is retransmitted.
  public var retransmissionTimeout: Milliseconds
  /// How long an acknowledgement may be delayed.
  public var cumulativeAcknowledgementTimeout: Milliseconds
  /// How many times a packet is retransmitted before the link is given up.
  public var maximumRetransmissions: UInt8
  /// How many packets may arrive before one must be acknowledged.
  public var maximumCumulativeAcknowledgements: UInt8
  /// No acknowledgements, no retransmissions, no window.
  public var isZeroAcknowledgement: Bool
  /// The sessions that both ends have.
  public var sessions: [LinkSession]

  /// Both ends' announcements, the recovery values of `theirs`, and the sessions known to both.
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

  /// The maximum payload of one packet to the other end.
  public var maximumPayload: Int { Int(peerMaximumPacketLength) - PacketHeader.overhead }

  /// Returns the number of the link's session of this kind, if it has one.
  public func session(_ kind: LinkSession.Kind) -> UInt8? {
    sessions.first { $0.kind == kind }?.id
  }
}

/// Why a link is down.
public enum LinkEnd: Error, Equatable, Sendable {
  /// A packet was retransmitted as often as agreed and never acknowledged.
  case unanswered(sequence: UInt8, retransmissions: UInt8)
  /// The device reset the link.
  case reset
  /// The device put the link to sleep.
  case asleep
  /// The other end restarted detection or synchronisation.
  case restarted
  /// Detection got no answer after this many sequences.
  case undetected(attempts: Int)
  /// SYN got no usable answer after this many attempts.
  case unsynchronized(attempts: Int)
  /// The device supports only iAP1; the value is the frame with which it answered.
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
  /// The values that every packet needs, derived from the agreement and the line's known properties.
  struct Terms {
    var isUp = false
    var isZeroAcknowledgement = false
    var sendWindow = 0
    var receiveWindow: UInt8 = 0
    var maximumPayload = 0
    /// For External Accessory data, which may use shorter packets than control messages.
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
      // A window of 0 comes from a declined offer of a link without acknowledgements: one packet is the minimum.
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
/// The timeout is fixed when the link is established, and starts when a packet is handed to the line, however long it
/// then waits for earlier packets. With a device's window of 127 packets of 65,535 bytes, a continuous writer fills a
/// line of 7,500 bytes per second for minutes, so every packet is late and is retransmitted, and the retransmissions
/// delay the other packets. iAP2 does not measure the line, but each end may announce fewer and shorter packets, and
/// may send fewer than the other end accepts. The other half of the timeout is left for acknowledgements, which queue
/// behind data in the other direction.
struct LineAllowance {
  /// Certificates and identifications fit one packet of this length.
  private static let leastLength = 2_048

  private let bytes: Int

  /// What may be in flight on a line with this rate.
  init(bytesPerSecond: Int, timeout: Milliseconds) {
    let (product, overflows) = bytesPerSecond.multipliedReportingOverflow(by: Int(timeout.count))
    bytes = overflows ? .max : product / 2_000
  }

  /// The longest packet: short enough for several to fit, so that one can be acknowledged while others are in flight.
  var length: Int { min(max(bytes / 4, Self.leastLength), Int(UInt16.max)) }

  func packets(of length: Int) -> Int { max(1, bytes / min(length, self.length)) }

  /// Limits what the other end may send to this one.
  func limiting(_ parameters: LinkParameters) -> LinkParameters {
    var limited = parameters
    limited.maximumPacketLength = UInt16(min(length, Int(parameters.maximumPacketLength)))
    limited.maximumOutstandingPackets = UInt8(
      min(packets(of: Int(limited.maximumPacketLength)), Int(parameters.maximumOutstandingPackets)))
    return limited
  }
}

extension LinkSettings {
  /// What may be in flight if packets are retransmitted after `timeout` milliseconds; nil if the line's rate is
  /// unknown.
  func allowance(timeout: Milliseconds) -> LineAllowance? {
    guard let lineRate, lineRate > 0, timeout.count > 0 else { return nil }
    return LineAllowance(bytesPerSecond: lineRate, timeout: timeout)
  }

  /// What an accessory offers instead of `parameters` if the line is slow. It must not request more packets per
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
