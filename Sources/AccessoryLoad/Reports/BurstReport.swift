import AccessoryCore
import AccessoryHost
import AccessoryRuns
import IAP2

/// Everything that a load test measured: what is printed, written to files, compared with a baseline, and merged.
///
/// Bursts of the warm-up are in ``warmUp`` only. Every other burst that started is completed, lost, or was in flight
/// when the run ended.
public struct BurstReport: Equatable, Sendable {
  /// What can go wrong.
  public enum ErrorKind: String, CaseIterable, Sendable {
    /// Other bytes came back than must.
    case different
    /// Bytes came that no burst asked for.
    case unexpected
    /// A burst took longer than it may.
    case timedOut
    /// A session ended under a burst.
    case lost
    /// A session could not be opened.
    case refused
    /// An accessory disconnected and the run does not wait for it, or it did not come back in time.
    case gone
  }

  /// Errors of one kind.
  public struct ErrorTally: Equatable, Sendable {
    /// How many.
    public var count = 0
    /// The text of the first one.
    public var first = ""
  }

  /// What was tested: size, sessions, pace, verification.
  public var plan: Plan
  /// How it ended, as a sentence fragment.
  public var ending = ""
  /// How many runs it is merged from.
  public var runs = 1
  /// Which shards are in the report.
  public var shards = ShardSet.whole
  /// When bursts began, of runs that begin together; nil for others.
  public var start: Start?
  /// How long was measured.
  public var measured = Duration.zero
  /// Bursts begun, those of the warm-up included.
  public var begun = 0
  /// Bursts completed and verified while warming up.
  public var warmUp = 0
  /// Bursts completed, verified and measured.
  public var completed = 0
  /// Bursts lost with their session.
  public var lost = 0
  /// Bursts of a rate that were not begun in the time of the run: never, or after all of them were due.
  public var overdue = 0
  /// Bytes of the payloads of the completed bursts.
  public var bytes = 0
  /// Bytes that came though no reply was expected.
  public var unaskedBytes = 0
  /// How often an accessory came back and its sessions were opened again.
  public var reconnections = 0
  /// From the time a burst should start until it was complete, in nanoseconds.
  public var latency = Histogram()
  /// With a rate, from when a burst began to when it was complete, in nanoseconds: what the device did, without what it
  /// held up.
  public var service = Histogram()
  /// What happened when.
  public var series = ThroughputSeries()
  /// What went wrong.
  public var errors: [ErrorKind: ErrorTally] = [:]
  /// In which ways the bytes were wrong that came back, where bursts are unique; one error may have several.
  public var mismatches: [StreamFinding.Kind: Int] = [:]
  /// Each accessory.
  public var sites: [Site] = []
  /// What the run must not do: it fails when one of these holds.
  public var limits: [BurstLimit] = []
  /// When, where and how the run was made.
  public var made = Making()
  /// When bursts began to be sent, on the clock of ``Site/attachments``; the series begin then.
  public var started = Instant.origin
  /// How long bursts were not measured at the start.
  public var warmUpTime = Duration.zero
  /// What became of each phase of the plan, in order.
  public var phases: [PhaseTally] = []
  /// The sizes of the completed bursts, in bytes.
  public var sizes = Histogram()
  /// What became of each payload or request of the plan, in order; empty where there is only one.
  public var payloads: [PayloadTally] = []
  /// How long bursts took, and when.
  public var map = LatencyMap()
  /// Whether the run may pass with bursts that were overdue.
  public var allowsOverdue = false
  /// Whether the run may pass with bursts that were lost with their session.
  public var allowsLost = false
  /// Whether the run may pass though it had no burst to send, as a shard of more than there are accessories.
  public var allowsEmpty = false
  /// What is worse or better than in an earlier run; not in files that are read.
  public var comparison: BaselineComparison?

  /// A report of nothing yet.
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

  /// How much went wrong in all.
  public var errorCount: Int { errors.values.reduce(0) { $0 + $1.count } }

  /// Payload bytes a second, one way.
  public var bytesPerSecond: Double { perSecond(bytes) }
  /// Bursts a second.
  public var burstsPerSecond: Double { perSecond(completed) }

  private func perSecond(_ count: Int) -> Double {
    measured > .zero ? Double(count) / measured.inSeconds : 0
  }

  /// What the links of all accessories did.
  public var link: LinkCounters {
    sites.reduce(into: LinkCounters()) { $0 += $1.link }
  }

  /// What became of the bursts that were due in one phase.
  public struct PhaseTally: Equatable, Sendable {
    /// What the plan calls it.
    public var name = ""
    /// When it began, after the beginning of the run.
    public var from = Duration.zero
    /// How long it took.
    public var length = Duration.zero
    /// The rate that was asked for, in words.
    public var pace = ""
    /// Bursts completed and measured.
    public var completed = 0
    /// How long they took from when they were due, in nanoseconds.
    public var latency = Histogram()
  }

  /// What became of the bursts of one payload or request.
  public struct PayloadTally: Equatable, Sendable {
    /// What the plan calls it; its number where it has no name.
    public var name = ""
    /// Bursts completed and measured.
    public var completed = 0
    /// Bytes of them.
    public var bytes = 0
    /// How long they took from when they were due, in nanoseconds.
    public var latency = Histogram()
  }

  /// When, where and how a run was made; texts are empty where that is not known.
  public struct Making: Equatable, Sendable {
    /// The date and time of its start, as ISO 8601 has it.
    public var date = ""
    /// The name of the machine and its system.
    public var host = ""
    /// The program and its version.
    public var program = ""
    /// The command line.
    public var command = ""

    /// Nothing is known.
    public init() {}
  }
}

extension BurstReport {
  /// What happened with one accessory.
  public struct Site: Equatable, Sendable {
    /// One publication of it.
    public struct Attachment: Equatable, Sendable {
      /// The number of the publication.
      public var connectionID: Int
      /// Whether it offered protocols; not in the first half of a flicker.
      public var offeredProtocols: Bool
      /// When it appeared, on the run's clock.
      public var from: Instant
      /// When it disappeared; nil while it is there.
      public var to: Instant?
      /// Why it ended.
      public var end = ""
      /// Bursts completed with it.
      public var completed = 0
      /// Bursts lost with it.
      public var lost = 0
    }

    /// What became of the bursts of one session, across reconnects.
    public struct SessionTally: Equatable, Sendable {
      /// Bursts completed and measured.
      public var completed = 0
      /// Bursts lost.
      public var lost = 0
      /// What went wrong.
      public var errors = 0
      /// The sum of the latencies, in nanoseconds.
      public var time = 0
      /// The longest of them.
      public var longest = 0

      /// Nothing happened.
      public init() {}
    }

    /// The kind of connection: the word before the colon of its address.
    public var transport: String {
      guard let colon = name.firstIndex(of: ":") else { return "local" }
      return String(name[..<colon])
    }

    /// The largest number of sessions that are listed.
    public static let sessionLimit = 1_000
    /// The largest number of attachments that are listed; the rest is summed up in ``more``.
    public static let attachmentLimit = 1_000

    /// The address, as it was given.
    public var name = ""
    /// What it is called.
    public var accessory = ""
    /// Its serial number.
    public var serial = ""
    /// Who made it.
    public var manufacturer = ""
    /// Its model.
    public var model = ""
    /// The version of its firmware.
    public var firmware = ""
    /// Its publications, in order.
    public var attachments: [Attachment] = []
    /// Publications that are not kept one by one.
    public var more = 0
    /// What its links did.
    public var link = LinkCounters()
    /// Its sessions, in order.
    public var sessions: [SessionTally] = []
    var hadSessions = false

    /// An accessory that nothing is known of.
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

    /// The attachment that bursts use; the last listed one, if there are more.
    private var current: Int? { attachments.indices.last { attachments[$0].offeredProtocols } }

    mutating func countBurst() {
      if let current { attachments[current].completed += 1 }
    }

    mutating func countLost(_ count: Int) {
      if let current { attachments[current].lost += count }
    }
  }
}
