/// The values that the two ends of an established link have agreed on.
public struct LinkAgreement: Hashable, Sendable {
  /// The maximum number of unacknowledged packets that the other end accepts.
  public var peerMaximumOutstandingPackets: UInt8
  /// The length of the longest packet that the other end accepts.
  public var peerMaximumPacketLength: UInt16
  /// The maximum number of unacknowledged packets that this end accepts.
  public var maximumOutstandingPackets: UInt8
  /// The length of the longest packet that this end accepts.
  public var maximumPacketLength: UInt16
  /// How long an unacknowledged packet waits before it is retransmitted.
  public var retransmissionTimeout: Milliseconds
  /// How long an acknowledgement may be delayed.
  public var cumulativeAcknowledgementTimeout: Milliseconds
  /// How many times a packet is retransmitted before the sender gives up on the link.
  public var maximumRetransmissions: UInt8
  /// How many packets may arrive before this end must send an acknowledgement.
  public var maximumCumulativeAcknowledgements: UInt8
  /// Whether the link runs without acknowledgements, retransmissions or a window.
  public var isZeroAcknowledgement: Bool
  /// The sessions that both ends declared.
  public var sessions: [LinkSession]

  /// Creates the agreement from both ends' announcements, the recovery values in `theirs`, and the sessions that both
  /// ends declare.
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
    // Usually, the device repeats the accessory's sessions.
    sessions =
      ours.sessions == theirs.sessions
      ? ours.sessions
      : ours.sessions.filter { own in theirs.sessions.contains { $0.id == own.id && $0.kind == own.kind } }
  }

  /// The maximum payload of one packet to the other end.
  public var maximumPayload: Int { Int(peerMaximumPacketLength) - PacketHeader.overhead }

  /// Returns the number of the link's session of this kind, or nil if there is none.
  public func session(_ kind: LinkSession.Kind) -> UInt8? {
    sessions.first { $0.kind == kind }?.id
  }
}

/// The reason a link went down.
public enum LinkEnd: Error, Equatable, Sendable, CustomStringConvertible {
  /// A packet was never acknowledged, despite the maximum number of retransmissions.
  case unanswered(sequence: UInt8, retransmissions: UInt8)
  case reset
  case asleep
  case restarted
  case unsynchronized(attempts: Int)
  /// The device supports only iAP1 and answered with this frame.
  case legacyDevice(frame: [UInt8])
  case unusable(LinkParametersError)

  /// A sentence fragment such as "the device reset the link".
  public var description: String {
    switch self {
    case .unanswered(let sequence, let count):
      "packet \(sequence) was retransmitted \(count) times and never acknowledged"
    case .reset: "the device reset the link"
    case .asleep: "the device put the link to sleep"
    case .restarted: "the other end restarted the link"
    case .unsynchronized(let attempts): "no answer to \(attempts) SYN packets"
    case .legacyDevice(let frame): "the device speaks only iAP1 (it answered \(Hex.spaced(frame)))"
    case .unusable(let error): error.description
    }
  }
}

extension Link {
  /// The values that every packet needs, derived from the agreement and the line's rate.
  struct Terms {
    var isUp = false
    var isZeroAcknowledgement = false
    var sendWindow = 0
    var receiveWindow: UInt8 = 0
    var maximumPayload = 0
    /// The maximum payload of External Accessory packets, which may be smaller than the maximum for packets with
    /// control messages.
    var maximumDataPayload = 0
    var cumulativeLimit = 1
    var retransmissionLimit: UInt8 = 0
    var retransmissionTimeout: Milliseconds = 0
    var acknowledgementTimeout: Milliseconds = 0

    init() {}

    init(_ phase: Phase, _ settings: LinkSettings) {
      guard case .established(let agreement) = phase else { return }
      let allowance = settings.allowance(timeout: agreement.retransmissionTimeout)
      let longest = min(allowance?.length ?? .max, Int(agreement.peerMaximumPacketLength))
      isUp = true
      isZeroAcknowledgement = agreement.isZeroAcknowledgement
      // The window is 0 if the device declined a link without acknowledgements; even then, one packet may be sent.
      sendWindow =
        agreement.isZeroAcknowledgement
        ? .max : max(1, min(Int(agreement.peerMaximumOutstandingPackets), allowance?.packets(of: longest) ?? .max))
      receiveWindow = agreement.maximumOutstandingPackets
      maximumPayload = agreement.maximumPayload
      maximumDataPayload = longest - PacketHeader.overhead
      // An acknowledgement must not wait for more packets than the other end may have outstanding.
      cumulativeLimit = max(
        1, Int(min(agreement.maximumCumulativeAcknowledgements, agreement.maximumOutstandingPackets)))
      retransmissionLimit = agreement.maximumRetransmissions
      retransmissionTimeout = agreement.retransmissionTimeout
      acknowledgementTimeout = agreement.cumulativeAcknowledgementTimeout
    }
  }
}

/// The number of bytes that may be in flight in each direction on a slow line: as many as the line carries in half of
/// the agreed retransmission timeout.
///
/// The timeout is fixed once the link is established. Each packet's timeout starts when the packet is handed to the
/// line, even if other packets are still queued ahead of it. A device's window allows 127 packets of 65,535 bytes, so a
/// continuous writer could queue minutes of data on a line of 7,500 bytes per second. Every packet would then time out,
/// and the retransmissions would add to the delay. Neither end measures the line's rate, but each can announce and send
/// fewer and shorter packets. Only half of the timeout is used, because acknowledgements wait behind data in the other
/// direction.
struct LineAllowance {
  /// Certificates and identifications fit into a packet of this length.
  private static let leastLength = 2_048

  private let bytes: Int

  init(bytesPerSecond: Int, timeout: Milliseconds) {
    bytes = Int(clamping: Int128(bytesPerSecond) * Int128(timeout.count) / 2_000)
  }

  /// The maximum packet length, short enough that one packet can be acknowledged while others are in flight.
  var length: Int { min(max(bytes / 4, Self.leastLength), Int(UInt16.max)) }

  func packets(of length: Int) -> Int { max(1, bytes / min(length, self.length)) }

  func limiting(_ parameters: LinkParameters) -> LinkParameters {
    var limited = parameters
    limited.maximumPacketLength = UInt16(min(length, Int(parameters.maximumPacketLength)))
    limited.maximumOutstandingPackets = UInt8(
      min(packets(of: Int(limited.maximumPacketLength)), Int(parameters.maximumOutstandingPackets)))
    return limited
  }
}

extension LinkSettings {
  /// Returns how much data may be in flight on a link with this retransmission timeout, or nil if the line's rate is
  /// unknown.
  func allowance(timeout: Milliseconds) -> LineAllowance? {
    guard let lineRate, lineRate > 0, timeout.count > 0 else { return nil }
    return LineAllowance(bytesPerSecond: lineRate, timeout: timeout)
  }

  /// Reduces an accessory's offer if the line is slow. An offer must not request more packets per acknowledgement than
  /// may be outstanding.
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
