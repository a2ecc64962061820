/// Everything about a link that is a choice: timings the sheet leaves open, and each disputed point of the protocol.
///
/// The disputed points are named here and nowhere else, with the reading that is safest as the default.
public struct LinkSettings: Hashable, Sendable {
  /// What this end announces in its SYN. The device repeats the accessory's recovery values and session table unless
  /// ``deviceAnswer`` says otherwise.
  public var parameters: LinkParameters
  /// What the accessory offers when it asked for a link without acknowledgements and the device declines.
  public var fallbackParameters: LinkParameters?
  /// The number of the first SYN; any will do.
  public var initialSequence: UInt8 = 0

  /// How often the accessory sends the detection sequence until it is answered: 1 s in six sources of seven.
  public var detectionPeriod: Milliseconds = 1_000
  /// How many detection sequences before the accessory gives up; nil: never (one source stops at thirty).
  public var detectionLimit: Int?
  /// How often an unanswered SYN is repeated: about 1 s in three sources.
  public var synchronizationPeriod: Milliseconds = 1_000
  /// How many SYNs before the accessory goes back to detection; a device stops at the eleventh.
  public var synchronizationLimit = 10

  /// What to do when the device's SYN|ACK has other recovery values than were offered.
  public enum Settling: Hashable, Sendable {
    /// Use the device's values and acknowledge (four simple stacks).
    case adopt
    /// Offer the device's values back in another SYN|ACK, until both are equal (one strict stack).
    case offerAgain
  }
  /// How differing recovery values are settled. Disputed; `adopt` is understood by everyone.
  public var settling = Settling.adopt

  /// What to do with a SYN whose numbers are outside the allowed ranges.
  public enum OutOfRange: Hashable, Sendable {
    /// Use the nearest allowed value, and report it. Apple devices answer versions 2 and 3 with 1.
    case clamp
    /// Refuse the SYN.
    case refuse
  }
  /// What to do with a SYN whose numbers are outside the allowed ranges. Some accessories that Apple devices accept send
  /// such numbers.
  public var outOfRange = OutOfRange.clamp

  /// What the device puts into its SYN|ACK.
  public enum DeviceAnswer: Hashable, Sendable {
    /// The accessory's recovery values and sessions with the device's own announcements, as Apple devices do.
    case echo
    /// The device's own recovery values with the accessory's sessions.
    case ownRecovery
  }
  /// What the device answers a SYN with.
  public var deviceAnswer = DeviceAnswer.echo
  /// Whether the device takes a link without acknowledgements (iOS 9 and later do).
  public var acceptsZeroAcknowledgement = true
  /// Plays a device from before iAP2, which answers detection with a frame of iAP1.
  public var legacyAnswer: LegacyAnswer?

  /// What an iAP1-only device answers.
  public enum LegacyAnswer: Hashable, Sendable {
    /// "Bad parameter" for the unknown command.
    case refusal
    /// A request to identify by iAP1.
    case requestIdentify
  }

  /// What the numbers in an extended acknowledgement mean. No capture of one is public.
  public enum ExtendedAcknowledgement: Hashable, Sendable {
    /// Never send one: drop or keep, and wait for the repetition.
    case never
    /// The numbers received out of order (the more authoritative source).
    case received
    /// The numbers missing (four sources).
    case missing
  }
  /// Which kind is sent. Received ones are always taken in both meanings: everything unacknowledged up to the highest
  /// number they can refer to is sent again, because duplicates do no harm.
  public var extendedAcknowledgement = ExtendedAcknowledgement.never

  /// Which packets are sent again when the retransmission timeout passes.
  public enum Retransmission: Hashable, Sendable {
    /// Every packet whose own timeout has passed.
    case everyExpired
    /// The oldest alone (two sources).
    case oldestOnly
  }
  /// Which packets a timeout repeats.
  public var retransmission = Retransmission.everyExpired

  /// Whether a device that gives up a link sends a reset. No source says; without a reset an idle accessory would
  /// keep a link that no longer exists, since there is no keep-alive.
  public var resetsWhenGivingUp = true

  /// When the timer that ends holding an acknowledgement back starts.
  public enum AcknowledgementTimer: Hashable, Sendable {
    /// With the first packet not acknowledged.
    case fromFirst
    /// Anew with each packet (one source).
    case fromEach
  }
  /// How long acknowledgements are held back.
  public var acknowledgementTimer = AcknowledgementTimer.fromFirst
  /// Whether packets that arrive ahead of a gap are kept, or dropped and waited for. Both kinds of stack exist.
  public var keepsPacketsAheadOfGap = true

  /// When this many bytes of one session are unread, its packets are no longer acknowledged.
  public var sessionReceiveBound = 256 * 1024
  /// How many bytes of one session may wait to be sent or acknowledged before a write takes no more.
  public var sessionSendBound = 256 * 1024

  /// How many bytes a second the line is known to carry each way; nil where nothing is known, or it is as fast as any. Then
  /// this end announces, and sends, no more at a time than the line carries in half the agreed retransmission timeout.
  public var lineRate: Int?

  /// How long a packet may pause in the middle before it counts as cut off, and what follows is read as a new one; nil:
  /// never. For lines that lose bytes, such as serial ones. Elsewhere packets arrive whole, however late.
  public var interByteTimeout: Milliseconds?

  /// Settings with the given announcements and every other choice at its default.
  public init(parameters: LinkParameters = LinkParameters()) {
    self.parameters = parameters
  }

  /// What an Apple device announces: 127 packets of up to 65,535 bytes, whatever the accessory can take.
  public static var device: LinkSettings {
    LinkSettings(parameters: LinkParameters(maximumOutstandingPackets: 127))
  }
}

/// A length of time in the unit that iAP2 uses on the wire.
public struct Milliseconds: Hashable, Sendable, ExpressibleByIntegerLiteral {
  /// How many milliseconds.
  public var count: Int64

  /// That many milliseconds.
  public init(_ count: Int64) {
    self.count = count
  }

  /// That many milliseconds.
  public init(integerLiteral value: Int64) {
    count = value
  }
}

extension Instant {
  /// The time `milliseconds` later; the first or last instant there is if that overflows, because users choose lengths.
  public static func + (time: Instant, milliseconds: Milliseconds) -> Instant {
    let (length, isTooLong) = milliseconds.count.multipliedReportingOverflow(by: 1_000_000)
    let (sum, isTooLate) = time.nanoseconds.addingReportingOverflow(length)
    if isTooLong || isTooLate { return Instant(nanoseconds: milliseconds.count < 0 ? .min : .max) }
    return Instant(nanoseconds: sum)
  }

  /// The earlier of two times; nil means "never".
  static func earlier(_ left: Instant?, _ right: Instant?) -> Instant? {
    guard let left else { return right }
    guard let right else { return left }
    return min(left, right)
  }
}
