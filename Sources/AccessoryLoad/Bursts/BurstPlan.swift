import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryRuns

/// The plan of a load test: what to send, at what rate and in how many sessions, and which replies to expect.
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
    /// The run ends after this many measured bursts in total.
    case bursts(Int)
    /// No further bursts begin once this much time has passed since the end of the warm-up. The run then waits for the
    /// bursts in flight.
    case time(Duration)
  }

  /// The rule that decides when the next burst begins.
  public enum Pace: Equatable, Sendable {
    /// A burst begins as soon as its session has fewer than ``BurstPlan/inFlight`` bursts in flight.
    case closedLoop
    /// The given number of bursts begins every second across all sessions, even if earlier bursts are not complete. If
    /// a burst is late, its latency is measured from its scheduled start, so an accessory that stops answering cannot
    /// hide the delay.
    case rate(burstsPerSecond: Double)
    /// The rate changes over time, in phases.
    case phases([BurstPhase])
  }

  /// The bytes of a burst.
  public enum Payload: Equatable, Sendable {
    /// Bytes from the session's `UniqueStream`, which occur only once in the whole run.
    case unique(size: Int)
    /// The pattern that EADemo sends for "Send 10K", which counts repeatedly from 00 to ff and is the same in every
    /// burst.
    case eademo(size: Int)
    case bytes([UInt8])

    /// The number of bytes in a burst.
    public var size: Int {
      switch self {
      case .unique(let size), .eademo(let size): size
      case .bytes(let bytes): bytes.count
      }
    }

    /// The bytes of every burst, or nil if the bursts differ.
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
    /// A reply with this length and any contents.
    case replyLength(Int)
    /// No reply. A burst is complete when the link has acknowledged the burst's last byte.
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

  /// A pause that follows a number of bursts.
  public struct Pause: Equatable, Sendable {
    /// The number of bursts before each pause.
    public var every: Int
    /// The length of the pause.
    public var length: Duration

    /// Creates a pause of `length` after every `every` bursts.
    public init(every: Int, length: Duration) {
      self.every = every
      self.length = length
    }
  }

  /// The bytes of a burst.
  public var payload = Payload.unique(size: 10_000)
  /// The condition that ends the run.
  public var extent = Extent.bursts(100)
  /// The number of sessions with each accessory.
  public var sessions = 1
  /// The maximum number of bursts in flight in each session.
  public var inFlight = 1
  /// The rule that decides when the next burst begins.
  public var pace = Pace.closedLoop
  /// The expected reply to each burst.
  public var verification = Verification.echo
  /// An initial period in which bursts are sent and verified but not measured.
  public var warmUp = Duration.zero
  /// An initial period in which the load increases: the sessions start one at a time, or the rate rises from zero.
  public var ramp = Duration.zero
  /// The regular pauses between bursts, or nil for none.
  public var pause: Pause?
  /// The time limit for each burst, and for an accessory to return after it has disconnected.
  public var timeout = Duration.seconds(10)
  /// Whether the run continues if an accessory disconnects and returns.
  public var reconnects = false
  /// Whether the run can pass even though scheduled bursts were overdue.
  public var allowsOverdue = false
  /// Whether the run can pass even though bursts were lost when an accessory disconnected and returned.
  public var allowsLost = false
  /// How long to watch for extra bytes after the last expected byte. Any extra byte fails the run.
  public var settleAfter = Duration.milliseconds(200)
  /// Conditions that fail the run, in addition to wrong bytes.
  public var limits: [BurstLimit] = []
  /// Bursts of different kinds, or an empty array to use ``payload`` and ``verification``.
  var requests: [BurstRequest] = []
  /// True if each session repeats the ``requests`` in order, or false if each session chooses requests at random.
  var isScript = false
  /// How long a session pauses after each of its bursts, or nil for no pause.
  var think: Distribution<Duration>?
  /// The factors by which individual accessories' rates are multiplied. The key of a factor is a name, serial number or
  /// address; `*` stands for all other accessories.
  var shares: [Named<Double>] = []
  /// The protocol to open sessions with, or nil to use the only protocol that the accessory offers.
  public var protocolName: String?

  /// Creates a plan that sends a hundred bursts of 10,000 unique bytes, one at a time, and expects an echo of each.
  public init() {}

  var phases: [BurstPhase] {
    get { if case .phases(let phases) = pace { phases } else { [] } }
    set { pace = .phases(newValue) }
  }

  /// Returns a plan for some of the accessories, with their share of the bursts or of the rate. The plan has no limits,
  /// because limits apply only to the whole run.
  ///
  /// - Parameters:
  ///   - accessories: the indices of these accessories.
  ///   - total: how many accessories there are in all.
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
  /// Turns this report into the report of a shard. The pace and limits in a shard's report are those of the whole plan.
  public mutating func isShard(_ shard: Shard, of plan: BurstPlan) {
    if shard.isWhole { return }
    let whole = BurstReport(plan)
    self.plan.pace = whole.plan.pace
    for (index, phase) in whole.phases.enumerated() where index < phases.count { phases[index].pace = phase.pace }
    limits = plan.limits
    shards = ShardSet(shard)
  }

  /// Returns the report of a shard that has no work to do.
  public static func empty(_ plan: BurstPlan, _ shard: Shard) -> BurstReport {
    var report = BurstReport(plan)
    report.ending = doneEnding
    (report.plan.count, report.plan.time) = (0, nil)
    (report.allowsOverdue, report.allowsLost) = (plan.allowsOverdue, plan.allowsLost)
    report.isShard(shard, of: plan)
    return report
  }
}

/// A rate as written by users, in bursts or bytes per second.
///
/// ```swift
/// try BurstRate("50")           // 50 bursts a second
/// try BurstRate("7500B/s")      // as many bursts as make 7,500 bytes a second
/// try BurstRate("100kB/s")      // the same for 100,000 bytes a second
/// ```
package struct BurstRate: Equatable, Sendable {
  private let value: Double
  private let isBytes: Bool

  package init(_ text: String) throws(OptionError) {
    let units: [(name: String, isBytes: Bool, size: Double)] = [
      ("MB/s", true, 1e6), ("kB/s", true, 1e3), ("KB/s", true, 1e3), ("B/s", true, 1), ("/s", false, 1), ("", false, 1),
    ]
    for (name, isBytes, size) in units where text.hasSuffix(name) {
      let digits = text.dropLast(name.count)
      let isNumber = !digits.isEmpty && digits.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
      guard isNumber, let number = Double(digits), 0.001...1e9 ~= number * size else { break }
      value = number * size
      self.isBytes = isBytes
      return
    }
    throw OptionError(
      "'\(Excerpt.of(text))' is not a rate: write bursts per second, such as 50, or bytes per second, such as 7500B/s "
        + "or 100kB/s")
  }

  package func burstsPerSecond(size: Int) -> Double { isBytes ? value / Double(size) : value }
}
