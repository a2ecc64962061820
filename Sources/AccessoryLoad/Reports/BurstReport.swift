import AccessoryCore
import AccessoryHost
import AccessoryRuns
import IAP2

/// The results of a load test, which can be printed, written to a file, compared with a baseline, and merged.
///
/// Bursts during the warm-up are counted only in ``warmUp``. Every other burst that began was completed, was lost, or
/// was still in flight when the run ended.
public struct BurstReport: Equatable, Sendable {
  /// The kinds of errors that occur in a load test.
  public enum ErrorKind: String, CaseIterable, Sendable {
    case different
    /// Unsolicited bytes arrived.
    case unexpected
    case timedOut
    case lost
    case refused
    /// An accessory disconnected and did not return in time, or the plan does not wait for accessories to return.
    case gone
  }

  /// All errors of one kind.
  public struct ErrorTally: Equatable, Sendable {
    /// The number of errors of this kind.
    public var count = 0
    /// A description of the first error of this kind.
    public var first = ""
  }

  /// The plan: size, sessions, pace and expected reply.
  public var plan: Plan
  /// The reason the run ended, as a phrase without a period.
  public var ending = ""
  /// The number of merged runs.
  public var runs = 1
  /// The shards that are included in the report.
  public var shards = ShardSet.whole
  /// The times at which bursts began in simultaneous runs, or nil for a single run.
  public var start: Start?
  /// The duration of the measurement.
  public var measured = Duration.zero
  /// The number of bursts that began, including those during the warm-up.
  public var begun = 0
  /// The number of bursts completed and verified during the warm-up.
  public var warmUp = 0
  /// The number of bursts completed, verified and measured.
  public var completed = 0
  /// The number of bursts lost because their session ended.
  public var lost = 0
  /// The number of scheduled bursts that never began, or that began only after all bursts were due.
  public var overdue = 0
  /// The number of payload bytes in the completed bursts.
  public var bytes = 0
  /// The number of bytes that arrived although the plan expected no reply.
  public var unaskedBytes = 0
  /// How many times an accessory returned after a disconnect and its sessions were reopened.
  public var reconnections = 0
  /// The time from each burst's scheduled start to its completion, in nanoseconds.
  public var latency = Histogram()
  /// The time from each burst's actual start to its completion, in nanoseconds, which is measured only if the plan has
  /// a rate. Unlike latencies, service times do not include delays caused by earlier slow bursts.
  public var service = Histogram()
  /// The throughput over time.
  public var series = ThroughputSeries()
  /// The errors, by kind.
  public var errors: [ErrorKind: ErrorTally] = [:]
  /// If bursts are unique, how many times each kind of mistake occurred in returned bytes. An error may be counted more
  /// than once.
  public var mismatches: [StreamFinding.Kind: Int] = [:]
  /// The results of each accessory.
  public var sites: [Site] {
    get { list.sites }
    set { list = SiteList(newValue) }
  }
  /// The same with their totals. A change to an element of ``sites`` computes the totals again, so a sum appends here.
  var list = SiteList()
  /// The run's failure conditions; the run fails if any of them holds.
  public var limits: [BurstLimit] = []
  /// When, where and how the run took place.
  public var made = Making()
  /// The time of the first burst, when the series begin, on the same clock as ``Site/attachments``.
  public var started = Instant.origin
  /// The length of the initial period in which bursts were not measured.
  public var warmUpTime = Duration.zero
  /// The results of the plan's phases, in order.
  public var phases: [PhaseTally] = []
  /// The sizes of the completed bursts, in bytes.
  public var sizes = Histogram()
  /// The results for each of the plan's payloads or requests, in order, or an empty array if there is only one.
  public var payloads: [PayloadTally] = []
  /// The completed bursts, counted by completion time and latency.
  public var map = LatencyMap()
  /// Whether the run can pass even though bursts were overdue.
  public var allowsOverdue = false
  /// Whether the run can pass even though bursts were lost when their session ended.
  public var allowsLost = false
  /// Whether the run can pass without sending a burst, for example because there are more shards than accessories.
  public var allowsEmpty = false
  /// The comparison with an earlier run. When easim reads a report file, it ignores the comparison in the file.
  public var comparison: BaselineComparison?

  /// Creates an empty report.
  public init(_ plan: BurstPlan) {
    self.plan = Plan(plan)
    if plan.requests.count > 1 {
      payloads = plan.requests.enumerated().map { index, request in
        PayloadTally(name: request.name.isEmpty ? "\(index + 1)" : request.name)
      }
    }
    var from = Duration.zero
    for phase in plan.phases {
      phases.append(PhaseTally(name: phase.name, from: from, length: phase.length, pace: phase.text))
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

  /// The total number of errors.
  public var errorCount: Int { errors.values.reduce(0) { $0 + $1.count } }

  /// The throughput in one direction, in payload bytes per second.
  public var bytesPerSecond: Double { perSecond(bytes) }
  /// The number of completed bursts per second.
  public var burstsPerSecond: Double { perSecond(completed) }

  private func perSecond(_ count: Int) -> Double {
    measured > .zero ? Double(count) / measured.inSeconds : 0
  }

  /// The link counters of all accessories.
  public var link: LinkCounters { list.link }

  /// The results of the bursts that were due in one phase.
  public struct PhaseTally: Equatable, Sendable {
    /// The phase's name in the plan.
    public var name = ""
    /// The start of the phase, measured from the beginning of the run.
    public var from = Duration.zero
    /// The duration of the phase.
    public var length = Duration.zero
    /// The requested rate, as text.
    public var pace = ""
    /// The number of bursts completed and measured in this phase.
    public var completed = 0
    /// The latencies of these bursts in nanoseconds, each measured from the time the burst was due.
    public var latency = Histogram()
  }

  /// The results for one of the plan's payloads or requests.
  public struct PayloadTally: Equatable, Sendable {
    /// The payload's name in the plan, or its number if it has no name.
    public var name = ""
    /// The number of bursts completed and measured.
    public var completed = 0
    /// The number of bytes in these bursts.
    public var bytes = 0
    /// The latencies of these bursts in nanoseconds, each measured from the time the burst was due.
    public var latency = Histogram()
  }

  /// When, where and how a run took place. Strings that are not known are empty.
  public struct Making: Equatable, Sendable {
    /// The time at which the run started, in ISO 8601 format.
    public var date = ""
    /// The names of the machine and of its operating system.
    public var host = ""
    /// The name and version of the program.
    public var program = ""
    /// The command line.
    public var command = ""

    /// Creates a description in which all strings are empty.
    public init() {}
  }

  /// The results for one accessory.
  public struct Site: Equatable, Sendable {
    /// A publication of the accessory, which is a period during which apps can see the accessory.
    public struct Attachment: Equatable, Sendable {
      /// The publication's number, which apps see as the connection ID.
      public var connectionID: Int
      /// Whether any protocols were offered when the accessory was published. Some accessories connect twice, and offer
      /// no protocols the first time.
      public var offeredProtocols: Bool
      /// The time at which the publication began, on the run's clock.
      public var from: Instant
      /// The time at which the publication ended, or nil if it has not ended.
      public var to: Instant?
      /// The reason the publication ended.
      public var end = ""
      /// The number of bursts completed during this publication.
      public var completed = 0
      /// The number of bursts lost during this publication.
      public var lost = 0
    }

    /// The results for one session, including after it was reopened.
    public struct SessionTally: Equatable, Sendable {
      /// The number of bursts completed and measured.
      public var completed = 0
      /// The number of bursts lost.
      public var lost = 0
      /// The number of errors in this session.
      public var errors = 0
      /// The sum of all latencies in nanoseconds.
      public var time = 0
      /// The longest latency in nanoseconds.
      public var longest = 0

      /// Creates empty results.
      public init() {}
    }

    /// The kind of connection, which is the part of the address before the colon.
    public var transport: String {
      guard let colon = name.firstIndex(of: ":") else { return "local" }
      return String(name[..<colon])
    }

    /// The maximum number of listed sessions.
    public static let sessionLimit = 1_000
    /// The maximum number of attachments to list; ``more`` counts the rest.
    public static let attachmentLimit = 1_000

    /// The address as the user gave it.
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
    /// The number of publications that are not listed in ``attachments``.
    public var more = 0
    /// The accessory's link counters.
    public var link = LinkCounters()
    /// The accessory's sessions, in order.
    public var sessions: [SessionTally] = []
    var hadSessions = false

    /// Creates the results for an accessory that is not known yet.
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

    /// Counts bursts of the attachment that bursts use, which is the last one with protocols.
    mutating func count(completed: Int = 0, lost: Int = 0) {
      guard let current = attachments.indices.last(where: { attachments[$0].offeredProtocols }) else { return }
      attachments[current].completed += completed
      attachments[current].lost += lost
    }
  }
}

/// The results of a report's accessories, with running totals, so that adding a report to a sum of thousands does not
/// go through all the accessories of the sum again.
///
/// Invariant: the totals are those of `sites`.
struct SiteList: Equatable, Sendable {
  private(set) var sites: [BurstReport.Site] = []
  private(set) var attachments = 0
  private(set) var counts = CountSum()
  /// The link counters of all accessories, if the sum of all counts is not too large.
  private(set) var link = LinkCounters()

  init() {}

  init(_ sites: [BurstReport.Site]) {
    self.sites = sites
    for site in sites { count(site) }
  }

  mutating func append(_ site: BurstReport.Site) {
    sites.append(site)
    count(site)
  }

  private mutating func count(_ site: BurstReport.Site) {
    for session in site.sessions { counts.add([session.completed, session.lost, session.errors]) }
    // Attachments that are not listed are counted in `more`.
    counts.add([site.more, site.attachments.count])
    for attachment in site.attachments { counts.add([attachment.completed, attachment.lost]) }
    counts.add(LinkCounters.reportFields.map { site.link[keyPath: $0.path] })
    attachments += site.attachments.count
    // Within this limit, no counter can overflow.
    if counts.value != nil { link += site.link }
  }
}

/// A run's progress, for use in a progress bar.
public struct BurstProgress: Equatable, Sendable {
  /// The number of bursts completed and measured.
  public var bursts = 0
  /// The number of bytes in these bursts.
  public var bytes = 0
  /// The number of errors so far.
  public var errors = 0
  /// The number of bursts that began, including those during the warm-up.
  public var begun = 0
  /// The number of bursts lost because their session ended.
  public var lost = 0
  /// The number of scheduled bursts that did not begin in time.
  public var overdue = 0
  /// The time since measuring began.
  public var elapsed = Duration.zero
  /// The progress from 0 to 1.
  public var fraction = 0.0

  /// The estimated time remaining, or nil if it cannot be estimated.
  public var timeLeft: Duration? {
    guard fraction > 0.001 else { return nil }
    return .nanoseconds(Int64(elapsed.inSeconds * max(0, 1 / fraction - 1) * 1e9))
  }
}
