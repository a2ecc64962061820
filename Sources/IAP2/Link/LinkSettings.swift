/// All settings of a link: timings that no public source specifies, and every point of the protocol on which sources
/// disagree.
///
/// No other type deals with points on which sources disagree. Each default is the safest interpretation.
public struct LinkSettings: Hashable, Sendable {
  /// The parameters that this end announces in its SYN. A device replaces the recovery values and the session table
  /// with the accessory's, unless ``deviceAnswer`` says otherwise.
  public var parameters: LinkParameters
  /// The accessory's second offer, made if the device declines a link without acknowledgements.
  public var fallbackParameters: LinkParameters?
  /// The sequence number of the first SYN; any number works.
  public var initialSequence: UInt8 = 0

  /// The interval at which the accessory sends the detection sequence until it is answered; 1 s in six of seven
  /// sources.
  public var detectionPeriod: Milliseconds = 1_000
  /// The interval at which an unanswered SYN is repeated; about 1 s in three sources.
  public var synchronizationPeriod: Milliseconds = 1_000
  /// How many SYNs are sent before the accessory returns to detection; a device gives up at the eleventh SYN.
  public var synchronizationLimit = 10

  /// The reaction to a SYN+ACK in which the device changes the offered recovery values.
  public enum Settling: Hashable, Sendable {
    /// Use the device's values and acknowledge, as four simple stacks do.
    case adopt
    /// Repeat the device's values in another SYN+ACK until both ends agree, as one strict stack does.
    case offerAgain
  }
  /// How conflicting recovery values are reconciled. Sources disagree; every stack understands `adopt`.
  public var settling = Settling.adopt

  /// The content of the device's SYN+ACK.
  public enum DeviceAnswer: Hashable, Sendable {
    /// The answer combines the accessory's recovery values and sessions with the device's own window and length, as on
    /// Apple devices.
    case echo
    /// The device's own recovery values with the accessory's sessions.
    case ownRecovery
  }
  /// How the device answers a SYN.
  public var deviceAnswer = DeviceAnswer.echo
  /// The iAP1 frame with which the device answers detection, to simulate a device that does not support iAP2.
  public var legacyAnswer: LegacyAnswer?

  /// How an iAP1-only device answers.
  public enum LegacyAnswer: Hashable, Sendable {
    case refusal
    case requestIdentify
  }

  /// The meaning of the numbers in an extended acknowledgement. No public capture contains an extended acknowledgement.
  public enum ExtendedAcknowledgement: Hashable, Sendable {
    /// Send no extended acknowledgements; wait for the retransmission.
    case never
    /// According to the more authoritative source, the list contains the sequence numbers that were received out of
    /// order.
    case received
    /// The list contains the missing numbers, according to four sources.
    case missing
  }
  /// The kind of extended acknowledgement that is sent. A received one is always interpreted in both ways: every
  /// unacknowledged packet up to the highest number that it can refer to is retransmitted, because duplicates do no
  /// harm.
  public var extendedAcknowledgement = ExtendedAcknowledgement.never

  /// Which packets are retransmitted when the retransmission timeout expires.
  public enum Retransmission: Hashable, Sendable {
    /// Every packet is retransmitted when its own timeout expires.
    case everyExpired
    /// Only the oldest packet is retransmitted, according to two sources.
    case oldestOnly
  }
  /// Which packets are retransmitted after a timeout.
  public var retransmission = Retransmission.everyExpired

  /// When the timer that delays an acknowledgement starts.
  public enum AcknowledgementTimer: Hashable, Sendable {
    /// The timer starts with the first unacknowledged packet.
    case fromFirst
    /// The timer restarts with each packet, according to one source.
    case fromEach
  }
  /// When the timer that delays an acknowledgement starts.
  public var acknowledgementTimer = AcknowledgementTimer.fromFirst
  /// Whether packets that arrive ahead of a gap are kept instead of dropped. Some stacks keep such packets, and others
  /// drop them.
  public var keepsPacketsAheadOfGap = true

  /// The number of unread bytes at which a session's packets are no longer acknowledged.
  public var sessionReceiveBound = 256 * 1024
  /// How many bytes of one session may be waiting to be sent or acknowledged before a write accepts no more.
  public var sessionSendBound = 256 * 1024

  /// How many bytes per second the line carries in each direction; nil if this is unknown or the line is fast. If the
  /// rate is given, this end announces and sends no more at a time than the line carries in half the agreed
  /// retransmission timeout.
  public var lineRate: Int?

  /// How long a packet may pause between two bytes before it counts as truncated and the next bytes are read as a new
  /// packet; nil means forever. The timeout is for lines that lose bytes, such as serial lines. On other lines, packets
  /// always arrive complete, even if late.
  public var interByteTimeout: Milliseconds?

  /// Creates settings from the given announcements; all other settings have default values.
  public init(parameters: LinkParameters = LinkParameters()) {
    self.parameters = parameters
  }

  /// The settings of an Apple device, which announces 127 packets of up to 65,535 bytes, regardless of what the
  /// accessory accepts.
  public static var device: LinkSettings {
    LinkSettings(parameters: LinkParameters(maximumOutstandingPackets: 127))
  }
}

/// A duration in milliseconds, the unit that iAP2 uses on the wire.
public struct Milliseconds: Hashable, Sendable, ExpressibleByIntegerLiteral {
  /// The number of milliseconds.
  public var count: Int64

  /// Creates a duration from a number of milliseconds.
  public init(_ count: Int64) {
    self.count = count
  }

  /// Creates a duration from a literal number of milliseconds.
  public init(integerLiteral value: Int64) {
    count = value
  }
}

extension Instant {
  /// Returns the time that is `milliseconds` later. Users choose durations, so an overflow must not trap; it results in
  /// the first or last possible instant.
  public static func + (time: Instant, milliseconds: Milliseconds) -> Instant {
    let (length, isTooLong) = milliseconds.count.multipliedReportingOverflow(by: 1_000_000)
    let (sum, isTooLate) = time.nanoseconds.addingReportingOverflow(length)
    if isTooLong || isTooLate { return Instant(nanoseconds: milliseconds.count < 0 ? .min : .max) }
    return Instant(nanoseconds: sum)
  }

  /// Returns the earlier of two times; nil means "never".
  static func earlier(_ left: Instant?, _ right: Instant?) -> Instant? {
    guard let left else { return right }
    guard let right else { return left }
    return min(left, right)
  }
}
