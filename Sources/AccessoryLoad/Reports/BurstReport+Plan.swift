import AccessoryCore
import AccessoryFormats
import AccessoryRuns

extension BurstReport {
  /// A plan, as described in a report.
  public struct Plan: Equatable, Sendable {
    /// The number of bytes in each burst, or 0 if the bursts differ.
    public var size = 0
    /// The distribution of sizes or the kinds of bursts, as text, or an empty array if all bursts are the same.
    public var bursts: [String] = []
    /// Whether sessions send the ``bursts`` in order.
    public var isScript = false
    /// The pause after each of a session's bursts, as text, or an empty string if there is no pause.
    public var think = ""
    /// The rate factor of each accessory, as text, or an empty array if all accessories share one rate.
    public var shares: [String] = []
    /// The number of sessions with each accessory.
    public var sessions = 0
    /// The maximum number of bursts in flight in each session.
    public var inFlight = 0
    /// The pace, such as "closed loop" or "50 bursts/s".
    public var pace = ""
    /// The expected reply, such as "echo", "reply of 4 bytes" or "none".
    public var verification = ""
    /// The pattern that the bytes follow: "unique", "eademo", or "fixed" if all bursts are the same.
    public var pattern = "fixed"
    /// The faults on the channels, as written for `--fault`.
    public var faults: [String] = []
    /// The number of bursts to complete, or nil if the plan has a fixed duration or the report is old.
    public var count: Int?
    /// The duration of the measurement, or nil if the plan has a fixed number of bursts or the report is old.
    public var time: Duration?

    init(_ plan: BurstPlan) {
      size = plan.payload.size
      switch plan.extent {
      case .bursts(let number): count = number
      case .time(let length): time = length
      }
      switch plan.payload {
      case .unique: pattern = "unique"
      case .eademo: pattern = "eademo"
      case .bytes: pattern = "fixed"
      }
      think = plan.think?.description ?? ""
      shares = plan.shares.map { "\($0.name) × \(FixedText.short($0.value))" }
      sessions = plan.sessions
      inFlight = plan.inFlight
      switch plan.pace {
      case .closedLoop: pace = Self.closedLoop
      case .phases(let phases):
        pace =
          phases.count == 1 ? phases[0].text : "\(phases.count) phases: \(phases.map(\.text).joined(separator: ", "))"
      case .rate(let rate): pace = "\(FixedText.text(rate, places: rate < 10 ? 2 : 0)) bursts/s"
      }
      switch plan.verification {
      case .echo: verification = "echo"
      case .reply(let bytes): verification = "reply of these \(bytes.count) bytes"
      case .replyLength(let count): verification = "reply of \(count) bytes"
      case .nothing: verification = "none"
      }
      if !plan.requests.isEmpty { take(plan.requests, isScript: plan.isScript) }
    }

    private mutating func take(_ requests: [BurstRequest], isScript: Bool) {
      size = 0
      self.isScript = isScript
      if requests.count == 1, let only = requests.first, only.isUniqueEcho, only.think == nil, let sizes = only.sizes {
        bursts = ["\(sizes)"]
        return
      }
      bursts = requests.map { $0.text(isWeighted: !isScript) }
      let unique = requests.count { $0.sizes != nil }
      pattern = unique == requests.count ? "unique" : unique == 0 ? "fixed" : "mixed"
      if !requests.allSatisfy({ $0.reply == .echo }) { verification = "each reply" }
      if requests.allSatisfy({ $0.reply == .nothing }) { verification = "none" }
    }

    /// The sizes as text, such as "10,000 bytes" or "3 kinds".
    var sizeText: String {
      if size > 0 { return "\(FixedText.grouped(size)) bytes" }
      if bursts.count == 1, let only = bursts.first, !only.contains("→") { return "\(only) bytes" }
      return isScript ? "a script of \(bursts.count.counted("request"))" : bursts.count.counted("kind")
    }

    init() {}
  }

  /// The times at which bursts began in simultaneous runs on several machines. The times are in microseconds since
  /// 1970, according to each machine's clock.
  public struct Start: Equatable, Sendable {
    /// The maximum difference between the starts of simultaneous runs, in microseconds.
    static let farthest = 86_400_000_000

    /// The time given by `--start-at`.
    public var planned = 0
    /// The time at which the first run began, which is later than planned if its sessions were not open in time.
    public var first = 0
    /// The time at which the last run began.
    public var last = 0
    /// The maximum error of the synchronized clocks, or nil if no clock is synchronized.
    public var clockError: Int?
    /// The number of clocks that are not synchronized.
    public var unsynchronized = 0

    init() {}

    /// Creates the start of a single run. `clockError` is nil if the machine's clock is not synchronized.
    public init(planned: Int, began: Int, clockError: Int?) {
      (self.planned, first, last) = (planned, began, began)
      self.clockError = clockError
      unsynchronized = clockError == nil ? 1 : 0
    }

    mutating func add(_ other: Start) {
      first = min(first, other.first)
      last = max(last, other.last)
      clockError = [clockError, other.clockError].compactMap(\.self).max()
      unsynchronized += other.unsynchronized
    }

    /// The start as text, such as "planned for 2026-11-23T01:30:00Z, began 0.1 ms after it".
    public var text: String {
      func late(_ time: Int) -> String { FixedText.time(Double(max(0, time - planned)) * 1_000) }
      var parts = ["planned for \(StartTime.text(planned)), "]
      parts[0] +=
        first == last
        ? "began \(late(first)) after it" : "the first run began \(late(first)) after it, the last \(late(last))"
      if let clockError {
        let bound = FixedText.time(Double(clockError) * 1_000)
        parts.append("each synchronized clock is off by at most \(bound)")
      }
      if unsynchronized > 0 {
        parts.append(
          "\(unsynchronized.counted("clock is", "clocks are")) not synchronized, so their times may be off by any "
            + "amount"
        )
      }
      return parts.joined(separator: "; ")
    }
  }
}

extension BurstReport.Plan {
  static let format = Record("plan", "what was done", Self()) {
    Field("size", \.size, .tally, "bytes per burst; 0 if bursts differ", isRequired: true)
    Field("bursts", \.bursts, .list(of: .bounded, count: 0...1_000), "how bursts differ", isAlwaysWritten: true)
    Field("script", \.isScript, .boolean, "whether the requests are sent in order", isAlwaysWritten: true)
    Field("think", \.think, .bounded, "a session's pause after each burst", isAlwaysWritten: true)
    Field(
      "accessories", \.shares, .list(of: .bounded, count: 0...10_000), "each accessory's share of the rate",
      isAlwaysWritten: true)
    Field("sessions", \.sessions, .tally, "sessions to each accessory", isRequired: true)
    Field("inFlight", \.inFlight, .tally, "maximum number of bursts in flight on each session", isRequired: true)
    Field("pace", \.pace, .bounded, "`closed loop`, or a rate", isRequired: true)
    Field("verification", \.verification, .bounded, "what was expected back", isRequired: true)
    // In earlier versions of easim, all bursts were the same, and reports had no list of bursts.
    Field("pattern", \.pattern, .bounded, "what the bursts were", isAlwaysWritten: true)
    Field("faults", \.faults, .list(of: .bounded), "the faults on the channels", isRequired: true)
    Field("count", \.count, .optional(.tally), "the requested number of bursts")
    Field("forNanoseconds", \.time, .optional(.nanoseconds), "the requested duration of the measurement")
  }
}
