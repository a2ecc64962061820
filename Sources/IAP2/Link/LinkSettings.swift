/// All settings of a link: timings that no public source gives, and each disputed point of the protocol.
///
/// The disputed points are named only here. The default of each is the safest interpretation.
public struct LinkSettings: Hashable, Sendable {
  /// What this end announces in its SYN. The device repeats the accessory's recovery values and session table unless
  /// ``deviceAnswer`` says otherwise.
  public var parameters: LinkParameters
  /// What the accessory offers if it requested a link without acknowledgements and the device declines.
  public var fallbackParameters: LinkParameters?
  /// The number of the first SYN; any number works.
  public var initialSequence: UInt8 = 0

  /// The interval at which the accessory sends the detection sequence until it is answered: every 1 s in six of seven
  /// sources.
  public var detectionPeriod: Milliseconds = 1_000
  /// How many detection sequences are sent before the accessory gives up; nil means that it never does (one source
  /// stops at thirty).
  public var detectionLimit: Int?
  /// The interval at which an unanswered SYN is repeated: about every 1 s in three sources.
  public var synchronizationPeriod: Milliseconds = 1_000
  /// How many SYNs are sent before the accessory returns to detection; a device stops at the eleventh.
  public var synchronizationLimit = 10

  /// What to do if the device's SYN|ACK changes the offered recovery values.
  public enum Settling: Hashable, Sendable {
    /// Use the device's values and acknowledge (four simple stacks).
    case adopt
    /// Offer the device's values back in another SYN|ACK, until both match (one strict stack).
    case offerAgain
  }
  /// How differing recovery values are settled. Sources disagree; every stack understands `adopt`.
  public var settling = Settling.adopt

  /// What to do with a SYN that contains numbers outside the allowed ranges.
  public enum OutOfRange: Hashable, Sendable {
    /// Use the nearest allowed value, and report it. Apple devices answer versions 2 and 3 with 1.
    case clamp
    /// Refuse the SYN.
    case refuse
  }
  /// What to do with a SYN that contains numbers outside the allowed ranges. Some accessories that Apple devices accept
  /// send such numbers.
  public var outOfRange = OutOfRange.clamp

  /// What the device puts into its SYN|ACK.
  public enum DeviceAnswer: Hashable, Sendable {
    /// The accessory's recovery values and sessions, with the device's own announcements, as Apple devices do.
    case echo
    /// The device's own recovery values with the accessory's sessions.
    case ownRecovery
  }
  /// How the device answers a SYN.
  public var deviceAnswer = DeviceAnswer.echo
  /// Whether the device accepts a link without acknowledgements (iOS 9 and later do).
  public var acceptsZeroAcknowledgement = true
  /// Plays a device from before iAP2, which answers detection with an iAP1 frame.
  public var legacyAnswer: LegacyAnswer?

  /// How an iAP1-only device answers.
  public enum LegacyAnswer: Hashable, Sendable {
    /// "Bad parameter" for the unknown command.
    case refusal
    /// A request to identify over iAP1.
    case requestIdentify
  }

  /// The meaning of the numbers in an extended acknowledgement. No capture of one is public.
  public enum ExtendedAcknowledgement: Hashable, Sendable {
    /// Never send one: drop or keep packets, and wait for the retransmission.
    case never
    /// The numbers received out of order (the more authoritative source).
    case received
    /// The missing numbers (four sources).
    case missing
  }
  /// Which kind is sent. Received ones are always interpreted in both ways: everything unacknowledged up to the highest
  /// number they can refer to is retransmitted, because duplicates do no harm.
  public var extendedAcknowledgement = ExtendedAcknowledgement.never

  /// Which packets are retransmitted when the retransmission timeout passes.
  public enum Retransmission: Hashable, Sendable {
    /// Every packet whose own timeout has passed.
    case everyExpired
    /// Only the oldest packet is sent again (two sources).
    case oldestOnly
  }
  /// Which packets a timeout retransmits.
  public var retransmission = Retransmission.everyExpired

  /// Whether a device that gives up a link sends a reset. No source says. Without a reset, an idle accessory would keep
  /// a dead link, because iAP2 has no keep-alive.
  public var resetsWhenGivingUp = true

  /// When the timer for delaying an acknowledgement starts.
  public enum AcknowledgementTimer: Hashable, Sendable {
    /// It starts with the first unacknowledged packet.
    case fromFirst
    /// It starts again with each packet (one source).
    case fromEach
  }
  /// When the acknowledgement timer starts.
  public var acknowledgementTimer = AcknowledgementTimer.fromFirst
  /// Whether packets that arrive ahead of a gap are kept instead of dropped until they are retransmitted. Both kinds of
  /// stacks exist.
  public var keepsPacketsAheadOfGap = true

  /// When this many bytes of one session are unread, its packets are no longer acknowledged.
  public var sessionReceiveBound = 256 * 1024
  /// How many bytes of one session may be waiting to be sent or acknowledged before a write accepts no more.
  public var sessionSendBound = 256 * 1024

  /// How many bytes per second the line is known to carry in each direction; nil if this is unknown or the line is
  /// fast. This end then announces, and sends, no more at a time than the line carries in half the agreed
  /// retransmission timeout.
  public var lineRate: Int?

  /// How long the bytes of a packet may pause before the packet counts as cut off and the next bytes are read as a new
  /// one; nil means forever. This is for lines that lose bytes, such as serial ones. Elsewhere packets arrive complete,
  /// however late.
  public var interByteTimeout: Milliseconds?

  /// Settings with the given announcements and defaults for everything else.
  public init(parameters: LinkParameters = LinkParameters()) {
    self.parameters = parameters
  }

  /// What an Apple device announces: 127 packets of up to 65,535 bytes, whatever the accessory accepts.
  public static var device: LinkSettings {
    LinkSettings(parameters: LinkParameters(maximumOutstandingPackets: 127))
  }
}

/// A duration in the unit that iAP2 uses on the wire.
public struct Milliseconds: Hashable, Sendable, ExpressibleByIntegerLiteral {
  /// How many milliseconds.
  public var count: Int64

  /// Creates a duration of this many milliseconds.
  public init(_ count: Int64) {
    self.count = count
  }

  /// Creates a duration of this many milliseconds.
  public init(integerLiteral value: Int64) {
    count = value
  }
}

extension Instant {
  /// Returns the time `milliseconds` later. Users choose durations, so an overflow gives the first or last possible
  /// instant.
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
