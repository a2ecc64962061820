import AccessoryFormats
import AccessoryLoad
import AccessoryRuns

/// How long each phase of an accessory's attachments took.
struct AttachReport: Equatable {
  /// The phases of an attachment, in their usual order. Some devices authenticate before identification.
  enum Phase: String, CaseIterable, Sendable {
    case cable, link, identification, authentication, publication, session

    fileprivate var end: String {
      switch self {
      case .cable: "a cable was connected"
      case .link: "the link was up"
      case .identification: "the accessory had identified itself"
      case .authentication: "the accessory was authenticated"
      case .publication: "apps saw the accessory with the protocol, after its flicker if there is one"
      case .session: "the accessory had confirmed the app's session; absent if the accessory confirms no sessions"
      }
    }
  }

  struct Run: Equatable, Sendable {
    var number = 0
    /// How long each phase took that was reached. A phase begins when another one ends.
    var phases: [Phase: Duration] = [:]
    /// Why the app did not get a session, or nil if it did.
    var problem: String?

    var total: Duration { phases.values.reduce(.zero, +) }

    fileprivate var text: String {
      let times = Phase.allCases.compactMap { phase in phases[phase].map { "\(phase) \($0.text)" } }
      return "\(total.text) (\(times.joined(separator: ", ")))"
    }
  }

  static let mostRuns = 100_000

  var address = ""
  var protocolName: String?
  /// The number of runs that the user asked for.
  var times = 0
  var limits: [BurstLimit] = []
  var runs: [Run] = []
  var stoppedBy: String?
  var allowsEmpty = false

  private var good: [Run] { runs.filter { $0.problem == nil } }

  /// The times that a phase took in the runs that got a session, or the times of these whole runs.
  private func histogram(_ phase: Phase?) -> Histogram {
    good.reduce(into: Histogram()) { times, run in
      guard let time = phase.map({ run.phases[$0] }) ?? run.total else { return }
      times.record(max(0, Int(time.wholeNanoseconds)))
    }
  }

  private var checks: [ReportCheck] { runs.isEmpty ? [] : limits.map { $0.check(histogram(nil)) } }

  var verdict: Verdict {
    let problems = runs.compactMap { run in run.problem.map { "run \(run.number): \($0)" } }
    return Verdict(
      wrong: problems + checks.filter { !$0.passed }.map(\.line), stoppedBy: stoppedBy, gap: unfinished,
      nothing: runs.isEmpty ? "the accessory was never attached" : nil)
  }

  var headline: String {
    let all = "\(good.count) of \(times.counted("attachment")) succeeded"
    guard let slowest = good.max(by: { $0.total < $1.total }) else { return all }
    return "\(all); the slowest, run \(slowest.number), took \(slowest.text)"
  }

  /// The rows of the table: a phase, and how long it took in half of the runs, in 95 % of the runs, and at most.
  private var rows: [[String]] {
    (Phase.allCases.map(Phase?.some) + [nil]).compactMap { phase in
      let times = histogram(phase)
      guard times.total > 0 else { return nil }
      return [phase?.rawValue ?? "total"]
        + [50.0, 95, 100].map { FixedText.time(Double(times.value(atPercentile: $0))) }
    }
  }

  private static let titles = ["phase", "p50", "p95", "max"]
}

extension Duration {
  fileprivate var text: String { FixedText.time(Double(wholeNanoseconds)) }
}

// MARK: - In every format

extension AttachReport: Report {
  static let kind = "attach report"
  static let limits = JSON5.Limits(bytes: 64 << 20, depth: 16)

  static let format = Record(kind, "how long the phases of attachments took", AttachReport()) {
    headerFields
    Field("address", \.address, .text, "the accessory's address", isRequired: true)
    Field("protocol", \.protocolName, .optional(.text), "the protocol that was asked for")
    Field("times", \.times, .integer(1...CountSum.most), "how many runs were asked for", isRequired: true)
    Field("failIf", \.limits, .list(of: .limit, count: 0...100), "when the result is a failure", isAlwaysWritten: true)
    verdictFields
    Field(derived: "text", .text, "the result in words") { $0.headline }
    Field("runs", \.runs, .list(of: .object(Run.format), count: 0...mostRuns), "the runs", isRequired: true)
    Field("ending", \.stoppedBy, .ending, "`complete`, or `stopped by` and a signal")
  }.checked { report, object in
    if report.runs.count > report.times { object.error("runs", "has more runs than 'times'") }
    if Set(report.runs.map(\.number)).count < report.runs.count { object.error("runs", "a run appears twice") }
  }

  var unfinished: String? { runs.count < times ? "\(runs.count) of \(times.counted("run"))" : nil }
  var title: String { "easim attach: \(address)" }

  var text: String {
    let table = ([Self.titles] + rows).map { row in
      row[0].padded(to: 14) + row.dropFirst().map { $0.rightAligned(in: 11) }.joined()
    }
    let problems = runs.compactMap { run in run.problem.map { "✗ run \(run.number): \($0)" } }
    return ((rows.isEmpty ? [] : table) + problems + checks.map(\.line) + [headline]).joined(separator: "\n")
  }

  var figures: [ReportFigure] {
    let total = histogram(nil)
    func figure(_ name: String, _ times: Histogram, _ percentile: Double, isMain: Bool) -> ReportFigure {
      ReportFigure(
        name, Double(times.value(atPercentile: percentile)), .time, moreIsBetter: false, isMain: isMain)
    }
    return [("p50", 50.0), ("p95", 95), ("max", 100)].map { figure($0, total, $1, isMain: true) }
      + [ReportFigure("failed", runs.count - good.count, moreIsBetter: false)]
      + Phase.allCases.map { figure("\($0) p50", histogram($0), 50, isMain: false) }
  }

  var suite: ReportSuite {
    let cases = runs.map { run in
      ReportCase(
        "attach", "run \(run.number)", time: run.total, run.problem.map { .failed($0) } ?? .passed, note: run.text)
    }
    let goals = checks.map { ReportCase("attach", $0.name, $0.passed ? .passed : .failed($0.line), note: $0.line) }
    return ReportSuite(
      "easim attach \(address)", time: runs.reduce(.zero) { $0 + $1.total },
      cases + goals + completeness("attach", all: "every run took place", some: "runs", nothing: nil))
  }

  var sections: [PageSection] {
    rows.isEmpty ? [] : [PageSection("Phases", PageTable.table(Self.titles, rows, numbers: 1), isChart: true)]
  }

  func differences(from other: AttachReport) -> [String] {
    let protocols = [protocolName, other.protocolName].map { $0 ?? "the only one" }
    return protocols[0] == protocols[1] ? [] : ["protocol: \(protocols[0]) instead of \(protocols[1])"]
  }

  mutating func add(_ other: AttachReport) throws(ReportSumError) {
    guard runs.count + other.runs.count <= Self.mostRuns, times + other.times <= CountSum.most else {
      throw .tooMany("\(runs.count + other.runs.count) runs")
    }
    runs += other.runs.map { run in
      var run = run
      run.number += times
      return run
    }
    times += other.times
    limits += other.limits.filter { !limits.contains($0) }
    stoppedBy = stoppedBy ?? other.stoppedBy
  }
}

extension AttachReport.Run {
  static let format = Record("run", "one attachment", Self()) {
    Field("run", \.number, .integer(1...CountSum.most), "its number", isRequired: true)
    for phase in AttachReport.Phase.allCases {
      Field(
        phase.rawValue, \.phases[phase], .optional(.nanoseconds),
        "how many nanoseconds passed from the end of the phase before until \(phase.end)")
    }
    Field(confirmed: "total", .nanoseconds, "the sum of the phases") { $0.total }
    Field("problem", \.problem, .optional(.text), "why the app got no session")
  }
}
