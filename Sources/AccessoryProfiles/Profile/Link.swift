extension Profile {
  /// What an accessory asks for when the link is set up: the payload of its SYN, field by field.
  ///
  /// The ranges are those of the wire. The defaults are ours, in the middle of what real accessories ask for.
  public struct Link: Equatable, Sendable {
    /// How many packets it takes before it acknowledges one.
    public var maximumOutstandingPackets: UInt8 = 16
    /// The longest packet it takes, header and checksums included.
    public var maximumPacketLength: UInt16 = 4096
    /// When an unacknowledged packet is sent again.
    public var retransmissionTimeout: Duration = .milliseconds(2000)
    /// How long an acknowledgement may be held back.
    public var cumulativeAcknowledgementTimeout: Duration = .milliseconds(50)
    /// How often a packet is sent again before the link is given up.
    public var maximumRetransmissions: UInt8 = 30
    /// How many packets one acknowledgement may stand for.
    public var maximumCumulativeAcknowledgements: UInt8 = 8
    /// The session that carries control messages.
    public var controlSession: UInt8 = 1
    /// The session that carries External Accessory data.
    public var externalAccessorySession: UInt8 = 2
    /// The session that carries file transfers, where there is one.
    public var fileTransferSession: UInt8?
    /// Whether the link does without acknowledgements; the counts and timeouts are then zero on the wire.
    public var zeroAcknowledgement = false

    /// The defaults.
    public init() {}

    /// The ids of the sessions, the file transfer's last and only where there is one.
    public var sessionIDs: [UInt8] {
      [controlSession, externalAccessorySession] + (fileTransferSession.map { [$0] } ?? [])
    }

    static let outstandingRange = 1...127
    static let packetLengthRange = 24...65_535
    static let retransmissionTimeoutRange = Duration.milliseconds(20)...Duration.milliseconds(65_535)
    static let acknowledgementTimeoutRange = Duration.milliseconds(10)...Duration.milliseconds(32_767)
    static let retransmissionsRange = 1...30
    static let cumulativeRange = 0...127
    static let sessionRange = 1...255
  }
}
