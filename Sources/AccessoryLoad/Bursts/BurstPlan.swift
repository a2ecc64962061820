import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryRuns

/// The plan of a load test: what to send, at what rate and over how many sessions, and which reply to expect.
///
/// ```swift
/// var plan = BurstPlan()
/// plan.extent = .bursts(1_000)
/// plan.pace = .rate(burstsPerSecond: 50)
/// plan.verification = .echo
/// ```
public struct BurstPlan: Equatable, Sendable {
  /// The condition that ends the run.
  public enum Extent: Equatable, Sendable {
    /// The run ends after the given number of measured bursts across all sessions.
    case bursts(Int)
    /// After this time, counted from the end of the warm-up, no more bursts start, and the run awaits those in flight.
    case time(Duration)
  }

  /// The rule for the start of the next burst.
  public enum Pace: Equatable, Sendable {
    /// A burst starts as soon as a session has fewer than ``BurstPlan/inFlight`` bursts in flight.
    case closedLoop
    /// The given number of bursts starts every second across all sessions, whether or not earlier bursts are complete.
    /// A late burst is measured from its scheduled start, so an accessory that stops answering cannot hide the delay.
    case rate(burstsPerSecond: Double)
    /// Rates that change over time, in successive phases.
    case phases([BurstPhase])
  }

  /// The bytes of a burst.
  public enum Payload: Equatable, Sendable {
    /// Bytes that occur in no other burst and no other session: the next bytes of the session's `UniqueStream`.
    case unique(size: Int)
    /// EADemo's "Send 10K" pattern, which counts repeatedly from 00 to ff and is the same in every burst.
    case eademo(size: Int)
    case bytes([UInt8])

    /// The number of bytes in a burst.
    public var size: Int {
      switch self {
      case .unique(let size), .eademo(let size): size
      case .bytes(let bytes): bytes.count
      }
    }

    /// The bytes of every burst; nil if no two bursts are the same.
    public var repeatedBytes: [UInt8]? {
      switch self {
      case .unique: nil
      case .eademo(let size): CountingPattern.bytes(size)
      case .bytes(let bytes): bytes
      }
    }
  }

  /// The expected reply to each burst.
  public enum Verification: Equatable, Sendable {
    case echo
    case reply([UInt8])
    /// A reply of this length, whatever its bytes.
    case replyLength(Int)
    /// No reply: a burst is complete when the link has acknowledged its last byte.
    case nothing

    func replyCount(payload: Int) -> Int {
      switch self {
      case .echo: payload
      case .reply(let bytes): bytes.count
      case .replyLength(let count): count
      case .nothing: 0
      }
    }
  }

  /// A pause after a number of bursts.
  public struct Pause: Equatable, Sendable {
    /// The number of bursts before each pause.
    public var every: Int
    /// The length of the pause.
    public var length: Duration

    /// Creates a pause of `length` after each `every` bursts.
    public init(every: Int, length: Duration) {
      self.every = every
      self.length = length
    }
  }

  /// The bytes of one burst.
  public var payload = Payload.unique(size: 10_000)
  /// The condition that ends the run.
  public var extent = Extent.bursts(100)
  /// The number of sessions with each accessory.
  public var sessions = 1
  /// The maximum number of bursts in flight in each session.
  public var inFlight = 1
  /// The rule for the start of the next burst.
  public var pace = Pace.closedLoop
  /// The expected reply.
  public var verification = Verification.echo
  /// How long bursts are sent and verified before measuring begins.
  public var warmUp = Duration.zero
  /// How long the load takes to build up: sessions begin one after another, and a rate rises from zero.
  public var ramp = Duration.zero
  /// Regular pauses between bursts; nil for no pauses.
  public var pause: Pause?
  /// The time limit for a burst, and for an accessory to return after a disconnect.
  public var timeout = Duration.seconds(10)
  /// Whether the run continues when an accessory disconnects and returns.
  public var reconnects = false
  /// Whether the run may pass even though scheduled bursts were overdue.
  public var allowsOverdue = false
  /// Whether the run may pass even though bursts were lost when an accessory disconnected and returned.
  public var allowsLost = false
  /// How long to watch for extra bytes after the last expected byte; any extra byte fails the run.
  public var settleAfter = Duration.milliseconds(200)
  /// Conditions that fail the run, in addition to wrong bytes.
  public var limits: [BurstLimit] = []
  /// A workload of bursts that vary, which replaces ``payload`` and ``verification``.
  package var workload: BurstWorkload?
  /// How long a session pauses after each of its bursts; nil for no pause.
  package var think: Distribution<Duration>?
  /// If accessories have their own rates, each accessory's share of the rate, by name, serial number or address; `*`
  /// stands for all others.
  package var shares: [Named<Double>] = []
  /// The protocol of the sessions; nil if the accessory offers only one protocol.
  public var protocolName: String?

  /// Creates a plan that sends 10,000 unique bytes a hundred times, one burst after another, and expects an echo.
  public init() {}
}

extension BurstPlan {
  /// Returns a plan for some of the accessories, with only their share of the bursts or the rate. Limits are omitted,
  /// because they apply to the whole plan.
  ///
  /// - Parameters:
  ///   - accessories: the indices of these accessories among all accessories.
  ///   - total: the number of all accessories.
  public func share(_ accessories: Range<Int>, of total: Int) -> BurstPlan {
    guard total > 0 else { return self }
    var part = self
    part.limits = []
    if case .bursts(let count) = extent {
      func bound(_ place: Int) -> Int { total.dividingFullWidth(count.multipliedFullWidth(by: place)).quotient }
      part.extent = .bursts(bound(accessories.upperBound) - bound(accessories.lowerBound))
    }
    let fraction = Double(accessories.count) / Double(total)
    switch pace {
    case .closedLoop: break
    case .rate(let rate): part.pace = .rate(burstsPerSecond: rate * fraction)
    case .phases(let phases):
      part.pace = .phases(
        phases.map { phase in
          var phase = phase
          phase.from = phase.from.map { $0 * fraction }
          phase.rate *= fraction
          return phase
        })
    }
    return part
  }
}

extension BurstReport {
  /// Turns this report into a shard's report with the pace and limits of the whole plan.
  public mutating func isShard(_ shard: Shard, of plan: BurstPlan) {
    if shard.isWhole { return }
    let whole = BurstReport(plan)
    self.plan.pace = whole.plan.pace
    for (index, phase) in whole.phases.enumerated() where index < phases.count { phases[index].pace = phase.pace }
    limits = plan.limits
    shards = ShardSet(shard)
  }

  /// Returns the report of a shard that has no work.
  public static func empty(_ plan: BurstPlan, _ shard: Shard) -> BurstReport {
    var report = BurstReport(plan)
    report.ending = doneEnding
    (report.plan.count, report.plan.time) = (0, nil)
    (report.allowsOverdue, report.allowsLost) = (plan.allowsOverdue, plan.allowsLost)
    report.isShard(shard, of: plan)
    return report
  }
}
