import AccessoryFormats
import AccessoryHost

/// The plan of a load test: what is sent, how often, over how many sessions, and the expected reply.
///
/// ```swift
/// var plan = BurstPlan()
/// plan.extent = .bursts(1_000)
/// plan.pace = .rate(burstsPerSecond: 50)
/// plan.verification = .echo
/// ```
public struct BurstPlan: Equatable, Sendable {
  /// When it is done.
  public enum Extent: Equatable, Sendable {
    /// After so many measured bursts, over all sessions.
    case bursts(Int)
    /// For this time after the warm-up; bursts in flight at its end are waited for.
    case time(Duration)
  }

  /// When the next burst begins.
  public enum Pace: Equatable, Sendable {
    /// As soon as a session has fewer than ``BurstPlan/inFlight`` bursts in flight.
    case closedLoop
    /// A number per second over all sessions, regardless of earlier ones. A burst that starts late is measured from
    /// the time at which it should have started, so a device that stops answering cannot hide the delay.
    case rate(burstsPerSecond: Double)
    /// Rates that change over time, one phase after the other.
    case phases([BurstPhase])
  }

  /// What a burst is.
  public enum Payload: Equatable, Sendable {
    /// So many bytes that come in no other burst and no other session: the next of the session's `UniqueStream`.
    case unique(size: Int)
    /// So many bytes of EADemo's "Send 10K", which count 00 to ff; the same in every burst.
    case eademo(size: Int)
    /// These bytes, the same in every burst.
    case bytes([UInt8])

    /// How many bytes a burst has.
    public var size: Int {
      switch self {
      case .unique(let size), .eademo(let size): size
      case .bytes(let bytes): bytes.count
      }
    }

    /// The bytes of every burst; nil when no two bursts are the same.
    public var repeatedBytes: [UInt8]? {
      switch self {
      case .unique: nil
      case .eademo(let size): CountingPattern.bytes(size)
      case .bytes(let bytes): bytes
      }
    }
  }

  /// What must come back for each burst.
  public enum Verification: Equatable, Sendable {
    /// The very bytes of the payload.
    case echo
    /// These bytes.
    case reply([UInt8])
    /// So many bytes, whatever they are.
    case replyLength(Int)
    /// Nothing is waited for: a burst is delivered when the link has acknowledged its last byte.
    case nothing

    /// How many bytes make a burst of `payload` bytes complete.
    func replyCount(payload: Int) -> Int {
      switch self {
      case .echo: payload
      case .reply(let bytes): bytes.count
      case .replyLength(let count): count
      case .nothing: 0
      }
    }
  }

  /// A time without bursts after every so many.
  public struct Pause: Equatable, Sendable {
    /// After how many bursts.
    public var every: Int
    /// For how long.
    public var length: Duration

    /// A pause of `length` after each `every` bursts.
    public init(every: Int, length: Duration) {
      self.every = every
      self.length = length
    }
  }

  /// The bytes of one burst.
  public var payload = Payload.unique(size: 10_000)
  /// When it is done.
  public var extent = Extent.bursts(100)
  /// Sessions to each accessory.
  public var sessions = 1
  /// The largest number of bursts in flight on each session.
  public var inFlight = 1
  /// When the next burst begins.
  public var pace = Pace.closedLoop
  /// What must come back.
  public var verification = Verification.echo
  /// For how long bursts are sent and verified before measuring begins.
  public var warmUp = Duration.zero
  /// For how long the load grows: sessions begin one after the other, and a rate rises from nothing.
  public var ramp = Duration.zero
  /// Times without bursts.
  public var pause: Pause?
  /// How long a burst may take, and how long an accessory may be disconnected.
  public var timeout = Duration.seconds(10)
  /// Whether the run continues when an accessory disconnects and comes back.
  public var reconnects = false
  /// Whether the run may pass although bursts of a rate were overdue.
  public var allowsOverdue = false
  /// Whether the run may pass although bursts were lost when an accessory went away and came back.
  public var allowsLost = false
  /// How long bytes are looked for after the last expected one; any is a failure.
  public var settleAfter = Duration.milliseconds(200)
  /// When the run fails, beside wrong bytes.
  public var limits: [BurstLimit] = []
  /// The bursts, where they differ: instead of ``payload`` and ``verification``.
  package var workload: BurstWorkload?
  /// The pause of a session after each of its bursts; nil for none.
  package var think: Distribution<Duration>?
  /// How much of the rate each accessory gets, where each has a rate of its own: by its name, serial number or address; `*`
  /// stands for those that are not named.
  package var shares: [Named<Double>] = []
  /// The protocol of the sessions; nil when there is only one.
  public var protocolName: String?

  /// 10,000 bytes, others each time, a hundred times, one after the other, echoed.
  public init() {}
}
