import AccessoryFormats

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
    /// How many packets one acknowledgement may confirm.
    public var maximumCumulativeAcknowledgements: UInt8 = 8
    /// The session that carries control messages.
    public var controlSession: UInt8 = 1
    /// The version of the control session; what 2 changes is not public.
    public var controlSessionVersion: UInt8 = 1
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

    /// How it is written.
    static let format = Record("link", "what the accessory requests during link setup", Link()) {
      Field(
        "maximumOutstandingPackets", \.maximumOutstandingPackets, .integer(1...127),
        "maximum number of unacknowledged packets it accepts")
      Field(
        "maximumPacketLength", \.maximumPacketLength, .integer(24...65_535),
        "the longest packet it accepts, including header and checksums")
      Field(
        "retransmissionTimeout", \.retransmissionTimeout, .duration(.milliseconds(20) ... .milliseconds(65_535)),
        "how long to wait before retransmitting an unacknowledged packet")
      Field(
        "cumulativeAcknowledgementTimeout", \.cumulativeAcknowledgementTimeout,
        .duration(.milliseconds(10) ... .milliseconds(32_767)), "maximum delay of an acknowledgement")
      Field(
        "maximumRetransmissions", \.maximumRetransmissions, .integer(1...30),
        "number of retransmissions before the link is given up")
      Field(
        "maximumCumulativeAcknowledgements", \.maximumCumulativeAcknowledgements, .integer(0...127),
        "maximum number of packets that one acknowledgement confirms; at most maximumOutstandingPackets",
        standard: Standard("8, or maximumOutstandingPackets if that is less") { link in
          min(Link().maximumCumulativeAcknowledgements, link.maximumOutstandingPackets)
        })
      Field(
        "zeroAcknowledgement", \.zeroAcknowledgement, .boolean,
        "whether the link works without acknowledgements; counts and timeouts are then zero on the wire")
      Field(group: "sessions", "the numbers of the link's sessions, all different") {
        Field("control", \.controlSession, .integer(1...255), "the session that carries control messages")
        Field(
          "controlVersion", \.controlSessionVersion, .integer(1...2),
          "the version of the control session; no public source describes 2")
        Field(
          "externalAccessory", \.externalAccessorySession, .integer(1...255), "the session that carries the apps' bytes"
        )
        Field(
          "fileTransfer", \.fileTransferSession, .optional(.integer(1...255)),
          "the session that carries file transfers; default: none")
      }
    }
  }
}
