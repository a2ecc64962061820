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
