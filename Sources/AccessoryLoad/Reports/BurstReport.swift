import AccessoryCore
import AccessoryHost
import AccessoryRuns
import IAP2

/// Everything that a load test measured: for printing, files, comparison with a baseline, and merging.
///
/// Bursts of the warm-up are counted only in ``warmUp``. Every other burst that started is completed, lost, or was in
/// flight when the run ended.
public struct BurstReport: Equatable, Sendable {
  /// What can go wrong.
  public enum ErrorKind: String, CaseIterable, Sendable {
    /// The bytes that came back were wrong.
    case different
    /// Unrequested bytes arrived.
    case unexpected
    /// A burst took too long.
    case timedOut
    /// A session ended during a burst.
    case lost
    /// A session could not be opened.
    case refused
    /// An accessory disconnected and did not return in time, or the run does not wait for it.
    case gone
  }

  /// Errors of one kind.
  public struct ErrorTally: Equatable, Sendable {
    /// How many.
    public var count = 0
    /// The text of the first error.
    public var first = ""
  }

  /// The plan: size, sessions, pace, verification.
  public var plan: Plan
  /// How the run ended, as a sentence fragment.
  public var ending = ""
  /// How many runs were merged.
  public var runs = 1
  /// Which shards the report contains.
  public var shards = ShardSet.whole
  /// When bursts began, for runs that begin together; nil for others.
  public var start: Start?
  /// The measured time.
  public var measured = Duration.zero
  /// Bursts begun, including those of the warm-up.
  public var begun = 0
  /// Bursts completed and verified while warming up.
  public var warmUp = 0
  /// Bursts completed, verified and measured.
  public var completed = 0
  /// Bursts lost with their session.
  public var lost = 0
  /// Bursts with a fixed time that did not begin in time: never, or only after all of them were due.
  public var overdue = 0
  /// Bytes of the payloads of the completed bursts.
  public var bytes = 0
  /// Bytes that arrived although no reply was expected.
  public var unaskedBytes = 0
  /// How often an accessory returned and its sessions were reopened.
  public var reconnections = 0
  /// The time between a burst's scheduled start and its completion, in nanoseconds.
  public var latency = Histogram()
  /// With a rate: the time from a burst's actual beginning to its completion, in nanoseconds. This is only the device's
  /// own time, without the delay that it causes for later bursts.
  public var service = Histogram()
  /// Throughput over time.
  public var series = ThroughputSeries()
  /// The errors by kind.
  public var errors: [ErrorKind: ErrorTally] = [:]
  /// How the returned bytes were wrong, if bursts are unique; one error may have several kinds.
  public var mismatches: [StreamFinding.Kind: Int] = [:]
  /// Each accessory.
  public var sites: [Site] = []
  /// The run's limits: it fails if one of these conditions holds.
  public var limits: [BurstLimit] = []
  /// When, where and how the run was made.
  public var made = Making()
  /// When the first burst was sent, on the clock of ``Site/attachments``; the series begin then.
  public var started = Instant.origin
  /// How long bursts at the start were not measured.
  public var warmUpTime = Duration.zero
  /// The results of each phase of the plan, in order.
  public var phases: [PhaseTally] = []
  /// The sizes of the completed bursts, in bytes.
  public var sizes = Histogram()
  /// The results of each payload or request of the plan, in order; empty if there is only one.
  public var payloads: [PayloadTally] = []
  /// When bursts were completed and how long they took.
  public var map = LatencyMap()
  /// Whether the run may pass with overdue bursts.
  public var allowsOverdue = false
  /// Whether the run may pass with bursts that were lost with their session.
  public var allowsLost = false
  /// Whether the run may pass although it had no burst to send, for example as a shard when there are more shards than
  /// accessories.
  public var allowsEmpty = false
  /// The comparison with an earlier run; not restored when a report is read from a file.
  public var comparison: BaselineComparison?

  /// Creates an empty report.
  public init(_ plan: BurstPlan) {
    self.plan = Plan(plan)
    if let requests = plan.workload?.requests, requests.count > 1 {
      payloads = requests.enumerated().map { index, request in
        PayloadTally(name: request.name.isEmpty ? "\(index + 1)" : request.name)
      }
    }
    guard case .phases(let phases) = plan.pace else { return }
    var from = Duration.zero
    for phase in phases {
      self.phases.append(PhaseTally(name: phase.name, from: from, length: phase.length, pace: phase.text))
      from += phase.length
    }
  }

  init(plan: Plan) { self.plan = plan }

  mutating func addError(_ kind: ErrorKind, _ count: Int, _ text: String) {
    var tally = errors[kind] ?? ErrorTally()
    if tally.count == 0 { tally.first = text }
    tally.count += count
    errors[kind] = tally
  }

  /// How many errors there were in total.
  public var errorCount: Int { errors.values.reduce(0) { $0 + $1.count } }

  /// Payload bytes per second, one way.
  public var bytesPerSecond: Double { perSecond(bytes) }
  /// Bursts a second.
  public var burstsPerSecond: Double { perSecond(completed) }

  private func perSecond(_ count: Int) -> Double {
    measured > .zero ? Double(count) / measured.inSeconds : 0
  }

  /// The counters of all accessories' links.
  public var link: LinkCounters {
    sites.reduce(into: LinkCounters()) { $0 += $1.link }
  }

  /// The results of the bursts that were due in one phase.
  public struct PhaseTally: Equatable, Sendable {
    /// The phase's name in the plan.
    public var name = ""
    /// When the phase began, counted from the beginning of the run.
    public var from = Duration.zero
    /// How long it took.
    public var length = Duration.zero
    /// The requested rate, in words.
    public var pace = ""
    /// Bursts completed and measured.
    public var completed = 0
    /// Latencies of these bursts, counted from when they were due, in nanoseconds.
    public var latency = Histogram()
  }

  /// The results of the bursts with one payload or request.
  public struct PayloadTally: Equatable, Sendable {
    /// The name in the plan; the number if it has no name.
    public var name = ""
    /// Bursts completed and measured.
    public var completed = 0
    /// Bytes of these bursts.
    public var bytes = 0
    /// Latencies of these bursts, counted from when they were due, in nanoseconds.
    public var latency = Histogram()
  }

  /// When, where and how a run was made; unknown strings are empty.
  public struct Making: Equatable, Sendable {
    /// The date and time of the start, in ISO 8601 format.
    public var date = ""
    /// The name of the machine and its system.
    public var host = ""
    /// The program and its version.
    public var program = ""
    /// The command line.
    public var command = ""

    /// Creates an empty description.
    public init() {}
  }
}

extension BurstReport {
  /// The results of one accessory.
  public struct Site: Equatable, Sendable {
    /// One publication of the accessory.
    public struct Attachment: Equatable, Sendable {
      /// The number of the publication.
      public var connectionID: Int
      /// Whether the publication offered protocols; false in the first half of a flicker.
      public var offeredProtocols: Bool
      /// When the publication appeared, on the run's clock.
      public var from: Instant
      /// When the publication disappeared; nil while it lasts.
      public var to: Instant?
      /// Why the publication ended.
      public var end = ""
      /// Bursts completed during this publication.
      public var completed = 0
      /// Bursts lost during this publication.
      public var lost = 0
    }

    /// The results of the bursts of one session, across reconnects.
    public struct SessionTally: Equatable, Sendable {
      /// Bursts completed and measured.
      public var completed = 0
      /// Bursts lost.
      public var lost = 0
      /// The number of errors.
      public var errors = 0
      /// The sum of the latencies, in nanoseconds.
      public var time = 0
      /// The longest latency.
      public var longest = 0

      /// Creates empty results.
      public init() {}
    }

    /// The kind of connection: the word before the colon in the address.
    public var transport: String {
      guard let colon = name.firstIndex(of: ":") else { return "local" }
      return String(name[..<colon])
    }

    /// The maximum number of sessions that are listed.
    public static let sessionLimit = 1_000
    /// The maximum number of attachments that are listed; ``more`` counts the others.
    public static let attachmentLimit = 1_000

    /// The address as given by the user.
    public var name = ""
    /// The accessory's name.
    public var accessory = ""
    /// The accessory's serial number.
    public var serial = ""
    /// The accessory's manufacturer.
    public var manufacturer = ""
    /// The accessory's model.
    public var model = ""
    /// The accessory's firmware version.
    public var firmware = ""
    /// The accessory's publications, in order.
    public var attachments: [Attachment] = []
    /// Publications that are not listed individually.
    public var more = 0
    /// The counters of the accessory's links.
    public var link = LinkCounters()
    /// The accessory's sessions, in order.
    public var sessions: [SessionTally] = []
    var hadSessions = false

    /// Creates a site about which nothing is known.
    public init() {}

    mutating func begin(_ shown: PublishedAccessory, at now: Instant) {
      accessory = shown.name
      serial = shown.serialNumber
      (manufacturer, model, firmware) = (shown.manufacturer, shown.modelNumber, shown.firmwareRevision)
      if attachments.count == Self.attachmentLimit {
        more += 1
        return
      }
      attachments.append(
        Attachment(connectionID: shown.connectionID, offeredProtocols: !shown.protocols.isEmpty, from: now))
    }

    mutating func end(_ connectionID: Int, at now: Instant, _ why: String) {
      guard let index = attachments.lastIndex(where: { $0.connectionID == connectionID }) else { return }
      attachments[index].to = now
      attachments[index].end = why
    }

    mutating func closeLast(at now: Instant, _ why: String) {
      for index in attachments.indices where attachments[index].to == nil {
        attachments[index].to = now
        attachments[index].end = why
      }
    }

    /// The attachment that bursts use; the last in the list.
    private var current: Int? { attachments.indices.last { attachments[$0].offeredProtocols } }

    mutating func countBurst() {
      if let current { attachments[current].completed += 1 }
    }

    mutating func countLost(_ count: Int) {
      if let current { attachments[current].lost += count }
    }
  }
}
