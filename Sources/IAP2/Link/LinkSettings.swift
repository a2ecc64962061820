/// All settings of a link, including every timing that no public source specifies and every point on which sources
/// disagree.
///
/// No other type needs to know about disagreements between sources. Each default is the safest choice.
public struct LinkSettings: Hashable, Sendable {
  /// The parameters that this end announces in its SYN. A device replaces the recovery values and the session table
  /// with the accessory's, unless ``deviceAnswer`` specifies otherwise.
  public var parameters: LinkParameters
  /// The accessory's second offer, for a device that declines a link without acknowledgements.
  public var fallbackParameters: LinkParameters?
  /// The first SYN's sequence number; any value works.
  public var initialSequence: UInt8 = 0

  /// The interval at which the accessory repeats the detection sequence until the device answers. Six of seven sources
  /// give 1 s.
  public var detectionPeriod: Milliseconds = 1_000
  /// The interval at which an unanswered SYN is repeated. Three sources give about 1 s.
  public var synchronizationPeriod: Milliseconds = 1_000
  /// How many SYNs the accessory sends before it returns to detection; a device gives up when it receives an eleventh
  /// SYN.
  public var synchronizationLimit = 10

  /// How the accessory reacts to a SYN+ACK in which the device changed the offered recovery values.
  public enum Settling: Hashable, Sendable {
    /// Use and acknowledge the device's values, as four simple stacks do.
    case adopt
    /// Repeat the device's values in further SYN+ACKs until both ends agree, as one strict stack does.
    case offerAgain
  }
  /// How conflicting recovery values are resolved. Sources disagree, but every stack understands `adopt`.
  public var settling = Settling.adopt

  /// The content of the device's SYN+ACK.
  public enum DeviceAnswer: Hashable, Sendable {
    /// The accessory's recovery values and sessions, combined with the device's own window and packet length, as on
    /// Apple devices.
    case echo
    /// The device's own recovery values, combined with the accessory's sessions.
    case ownRecovery
  }
  /// How the device answers a SYN.
  public var deviceAnswer = DeviceAnswer.echo
  /// Whether the device rejects detection with an iAP1 frame, to simulate a device without iAP2 support.
  public var refusesDetection = false

  /// The meaning of the numbers in an extended acknowledgement. No public capture contains an extended acknowledgement.
  public enum ExtendedAcknowledgement: Hashable, Sendable {
    /// No extended acknowledgements are sent; the other end retransmits after its timeout.
    case never
    /// According to the more authoritative source, the list contains the sequence numbers that were received out of
    /// order.
    case received
    /// According to four sources, the list contains the missing sequence numbers.
    case missing
  }
  /// The kind of extended acknowledgement that this end sends. The list in a received extended acknowledgement is
  /// ambiguous, so every unacknowledged packet up to the highest number that it could refer to is retransmitted.
  /// Duplicate packets do no harm.
  public var extendedAcknowledgement = ExtendedAcknowledgement.never

  /// Which packets are retransmitted when the retransmission timeout expires.
  public enum Retransmission: Hashable, Sendable {
    /// Every packet is retransmitted when its own timeout expires.
    case everyExpired
    /// According to two sources, only the oldest packet is retransmitted.
    case oldestOnly
  }
  /// Which packets are retransmitted when the retransmission timeout expires.
  public var retransmission = Retransmission.everyExpired

  /// The event that starts the timer for a delayed acknowledgement.
  public enum AcknowledgementTimer: Hashable, Sendable {
    /// The timer starts with the first unacknowledged packet.
    case fromFirst
    /// According to one source, the timer restarts with each packet.
    case fromEach
  }
  /// The event that starts the timer for a delayed acknowledgement.
  public var acknowledgementTimer = AcknowledgementTimer.fromFirst
  /// Whether packets that arrive out of order are kept. Some stacks drop such packets.
  public var keepsPacketsAheadOfGap = true

  /// The number of unread bytes at which this end stops acknowledging a session's packets.
  public var sessionReceiveBound = 256 * 1024
  /// How many bytes of a session may be waiting to be sent or acknowledged before writes are refused.
  public var sessionSendBound = 256 * 1024

  /// The number of bytes per second that the line carries in each direction, or nil if the rate is unknown or too high
  /// to matter. If a rate is given, this end announces and sends no more at a time than the line can carry in half of
  /// the agreed retransmission timeout.
  public var lineRate: Int?

  /// The maximum pause between two bytes of a packet, or nil for no limit. After a longer pause, the packet counts as
  /// truncated, and the bytes that follow are read as a new packet. Only lines that lose bytes, such as serial lines,
  /// need this timeout. On other lines, packets always arrive complete, even if late.
  public var interByteTimeout: Milliseconds?

  /// Creates settings with these announcements, and defaults for everything else.
  public init(parameters: LinkParameters = LinkParameters()) {
    self.parameters = parameters
  }

  /// The settings of an Apple device, which always announces 127 packets of up to 65,535 bytes, whatever the accessory
  /// announces.
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
  /// Returns the time that is `milliseconds` after this one. Durations come from users, so an overflow does not trap,
  /// but gives the first or last possible instant.
  public static func + (time: Instant, milliseconds: Milliseconds) -> Instant {
    let (length, isTooLong) = milliseconds.count.multipliedReportingOverflow(by: 1_000_000)
    let (sum, isTooLate) = time.nanoseconds.addingReportingOverflow(length)
    if isTooLong || isTooLate { return Instant(nanoseconds: milliseconds.count < 0 ? .min : .max) }
    return Instant(nanoseconds: sum)
  }

  static func earlier(_ left: Instant?, _ right: Instant?) -> Instant? {
    guard let left else { return right }
    guard let right else { return left }
    return min(left, right)
  }
}
