import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryLoad
import AccessoryRuns
import AccessorySessions
import IAP2

extension CommandSpec {
  static let attach = CommandSpec(
    name: "attach", summary: "attach an accessory repeatedly, and report how long each phase takes",
    details: """
      Connect to the accessory at ADDR (default: the only local one) as an Apple device would, open a session as soon as an
      app sees the protocol, disconnect, and repeat this --times N. The report shows how long each phase took: cable, link,
      identification, authentication, publication to apps (after a flicker, if there is one), and session (until the
      accessory confirms it with EA03; a session that the accessory closes at once is a failure).

      Conditions for --fail-if: p50, p95, p99.9, mean, max > TIME, from the start of a run to its session. They do not count
      runs without a session, each of which is a failure of its own.

      Exit codes: 0 every run got a session; 1 a run got none, a condition holds, or the command was stopped; 2 usage error;
      and, if the first run fails: 3 no accessory found; 4 timed out; 6 the accessory was refused. Ctrl-C ends the command
      and still writes the report.
      """,
    examples: [
      "easim attach unix:/tmp/echo-1.sock --times 3",
      "easim attach unix:/tmp/echo-1.sock --times 3 --fail-if 'p95>3s' --report /tmp/attach.html",
    ],
    report: AttachReport.self, run: runAttach)
}

private struct AttachOptions: CommandOptions {
  var address = Address.standardLocal
  var times = 10
  var pause = Duration.milliseconds(200)
  var limits: [BurstLimit] = []
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.address(\.address)]
  static let options: [Option<Self>] = [
    Option("--times", \.times, .integer(1...AttachReport.mostRuns), "number of runs"),
    Option("--pause", \.pause, .duration, "wait TIME between two runs"),
    Option(
      "--fail-if", \.limits, as: "LIMIT", "fail if the condition holds: 'p95>3s', 'max>5s'", isRepeatable: true
    ) { limits, word in
      let limit = try BurstLimit(failIf: word)
      guard limit.isOnTimes else { throw UsageError("--fail-if '\(word)': expected a time: 'p95>3s'") }
      limits.append(limit)
    },
    .protocolName, .timeout.described("time limit for each run"),
    .settleAfter.described("time that the accessory has to confirm or close a session"),
    .report, .json, .fault, .auth, .identification, .order, .deviceProfile, .infoPlist, .allProtocols, .allowRemote,
    .anyUser, .seed, .transcript, .transcriptBytes, .capture, .trace, .traceLimit,
  ]
}

private func runAttach(_ options: AttachOptions, _ console: Console) throws -> ExitCode {
  let shared = options.shared
  let output = try RunOutput<AttachReport>(shared, console)
  let runtime = try CommandRuntime(console, seed: shared.seed)
  let show: (TimelineEvent) -> Void = { console.isJSON ? console.show($0) : console.witness($0) }
  let cables = CableOptions(shared, on: runtime.loop, report: show)
  var report = AttachReport()
  (report.address, report.protocolName) = ("\(options.address)", shared.protocolName)
  (report.times, report.limits) = (options.times, options.limits)
  try cables.openFiles(console)
  let progress = RunProgress(console, on: runtime.loop) { _ in
    (Double(report.runs.count) / Double(report.times), "\(report.runs.count) of \(report.times)")
  } line: { _ in
    nil
  }
  defer { progress.stop() }
  for number in 1...options.times {
    if number > 1 { _ = runtime.run(until: { false }, limit: options.pause) }
    guard StopSignals.first == nil else { break }
    let clock = AttachClock(run: number, shared.protocolName, settling: shared.settleAfter, on: runtime.loop)
    let host = try HostCommandContext(
      shared, at: options.address, for: clock, on: runtime, console, cables: cables
    ) { event in
      clock.see(event)
      show(event)
    }
    let isHidden = { !host.app.hiddenAccessories.isEmpty }
    var wasHidden = false
    _ = try host.run(until: { clock.isOver || isHidden() }, limit: shared.timeout) {
      wasHidden = isHidden()
      clock.stop()
    }
    guard clock.isOver || StopSignals.first == nil else { break }
    if !clock.isOver {
      let (code, text) = host.failure(within: shared.timeout, isHidden: wasHidden)
      if report.runs.isEmpty {
        progress.clear()
        if !host.refusals.explain(console) { console.err("easim: \(text)") }
        return code
      }
      clock.run.problem = text
    }
    report.runs.append(clock.run)
    if console.isJSON {
      let run = JSONObject(AttachReport.Run.format.tree(clock.run))
      console.out(event: "run", at: runtime.loop.now, side: .app, ["run": run])
    }
  }
  report.stoppedBy = report.unfinished == nil ? nil : StopSignals.stopper
  progress.stop()
  output.write(report)
  output.show(report, report.verdict, report.headline, text: report.text, at: runtime.loop.now)
  if report.stoppedBy != nil { _ = runtime.stopped(console, " after \(report.runs.count.counted("run"))") }
  return report.passed ? .done : .checkFailed
}

extension HostCommandContext {
  /// Returns why a run got no session although nothing was refused by the accessory in a session.
  fileprivate func failure(within timeout: Duration, isHidden: Bool) -> (ExitCode, String) {
    if let refusal = refusals.refusal { return (.refused, refusal.sentence) }
    if isHidden { return (.unreachable, Self.nothingVisible) }
    if isMissing { return explanation(within: timeout) }
    return (.timedOut, "apps did not see the protocol within \(DurationText.format(timeout))")
  }
}

/// Measures the phases of one attachment. As soon as the accessory offers the protocol, the app opens a session. The run
/// is over when the accessory has confirmed or closed the session, or has done neither for a while.
final class AttachClock: AppHandler, SessionHandler {
  var run = AttachReport.Run()
  private(set) var isOver = false
  private let protocolName: String?
  private let settling: Duration
  private let loop: any EventLoop
  private var last: Instant
  private var session: Session?
  private var timer: LoopTimer?

  init(run number: Int, _ protocolName: String?, settling: Duration, on loop: any EventLoop) {
    (self.protocolName, self.settling, self.loop, last) = (protocolName, settling, loop, loop.now)
    run.number = number
    timer = loop.makeTimer { [unowned self] in isOver = true }
  }

  /// Ignores what happens from now on.
  func stop() {
    session?.handler = nil
    timer?.cancel()
  }

  func see(_ event: TimelineEvent) {
    guard event.side == .device else { return }
    switch event.kind {
    case .attach: reach(.cable)
    case .link(isUp: true, _): reach(.link)
    case .identification: reach(.identification)
    case .authentication(.succeeded): reach(.authentication)
    case .message(let passed)
    where passed.direction == .received && passed.message.id == .externalAccessorySessionStatus && session != nil:
      reach(.session)
      // The session ends after this event if the accessory closes it.
      timer?.arm(at: loop.now)
    default: break
    }
  }

  /// Only the first time counts, because accessories that flicker go through most phases several times.
  private func reach(_ phase: AttachReport.Phase) {
    guard !isOver, run.phases[phase] == nil else { return }
    run.phases[phase] = loop.now - last
    last = loop.now
  }

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard session == nil, let name = protocolName ?? accessory.protocols.first, accessory.protocols.contains(name)
    else { return }
    reach(.publication)
    do throws(AppSessionError) {
      let session = try app.openSession(with: accessory, protocolName: name)
      self.session = session
      session.handler = self
      timer?.arm(at: loop.now + settling)
    } catch { fail("\(error)") }
  }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  func sessionIsReadable(_ session: Session) { session.read { $0.byteCount } }
  func sessionIsWritable(_ session: Session) {}
  func session(_ session: Session, endedWith end: SessionEnd) { fail("the session ended: \(end)") }

  private func fail(_ problem: String) {
    guard !isOver else { return }
    (run.problem, isOver) = (problem, true)
  }
}

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

extension AttachReport: LimitedReport {
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

  mutating func require(_ more: [BurstLimit]) { limits += more.filter { !limits.contains($0) } }

  func mayRequire(_ limit: BurstLimit) -> Bool { limit.isOnTimes }

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
