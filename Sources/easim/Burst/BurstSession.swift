import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryLoad
import AccessoryRuns
import AccessorySessions
import CLinux
import Glibc
import LinuxIO

/// A run of `easim burst`, with a device for each address, a load test across all devices, and a progress display.
final class BurstSession {
  private let plan: BurstPlan
  private let output: RunOutput<BurstReport>
  private let runtime: CommandRuntime
  private let console: Console
  private let runner: BurstRunner
  private var hosts: [HostCommandContext] = []
  private let bar: ProgressBar
  private var metricsServer: HTTPServer?
  private var lastBytes = 0
  var wholePlan: BurstPlan
  private var start: (planned: Int, clock: MachineClock)?

  init(
    _ addresses: [Address], _ plan: BurstPlan, _ shared: SharedOptions, _ output: RunOutput<BurstReport>,
    _ runtime: CommandRuntime, _ console: Console
  ) throws {
    (self.plan, self.output) = (plan, output)
    wholePlan = plan
    self.runtime = runtime
    self.console = console
    let bar = ProgressBar(console)
    self.bar = bar
    let show = { (event: TimelineEvent) in Self.show(event, console, bar) }
    runner = BurstRunner(plan, on: runtime.loop, report: show)
    let cables = CableOptions(shared, on: runtime.loop, report: show)
    runner.faults = cables.faults.map(\.description)
    runner.made = .now
    try orStop {
      for address in addresses {
        // Each device has its own random number generator, so that devices get different connection IDs.
        _ = runtime.loop.random.next()
        let site = runner.addSite(address == .standardLocal ? "this machine" : address.description)
        let host = try HostCommandContext(
          shared, at: address, for: site, on: runtime, console, cables: cables,
          adjust: { $0 = BurstRunner.appSettings($0) }, tap: { site.watch($0) }, report: show)
        site.linkCounters = { [unowned host] in host.linkCounters }
        hosts.append(host)
      }
      try output.check(runner.report)
      try cables.openFiles(console)
    }
  }

  /// Performs a step of the preparation. If it fails, unplugs everything that has been prepared.
  func orStop(_ step: () throws -> Void) throws {
    do { try step() } catch {
      for host in hosts { host.stop() }
      throw error
    }
  }

  private static func show(_ event: TimelineEvent, _ console: Console, _ bar: ProgressBar) {
    if console.isJSON { return console.show(event) }
    console.witness(event)
    switch event.kind {
    case .connect, .disconnect, .warning, .fault, .alert:
      bar.clear()
      console.err(TimelineText.line(event, colors: false))
    default: break
    }
  }

  func serveMetrics(at address: Address, _ shared: SharedOptions) throws {
    guard case .tcp(let host, let port) = address else { return }
    // Reading metrics requires no token, because Prometheus usually runs as a different user.
    var options = TransportOptions()
    (options.allowsRemote, options.allowsOtherUsers) = (shared.allowsRemote, true)
    let metricsServer = try HTTPServer(
      metrics: { [unowned self] in runner.report.metrics(isOpen: false) }, host: host, port: port, options,
      on: runtime.loop)
    self.metricsServer = metricsServer
    console.err("easim: metrics at http://\(metricsServer.address)/metrics")
  }

  /// Starts the bursts at `time`, or later if some sessions are not open by then.
  func begin(at time: StartTime) throws {
    let clock = MachineClock(runtime.loop.now)
    let planned = time.microseconds(now: clock.microseconds)
    let left = Duration.microseconds(planned - clock.microseconds)
    if left < .zero {
      throw UsageError("--start-at: \(StartTime.text(planned)) was \(DurationText.format(.zero - left)) ago")
    }
    if left > .seconds(366 * 86_400) { throw UsageError("--start-at: \(StartTime.text(planned)) is over a year away") }
    runner.startsAt = runtime.loop.now + left
    start = (planned, clock)
    let whole = Duration.milliseconds(left.wholeNanoseconds / 1_000_000)
    console.err("easim: bursts begin at \(StartTime.text(planned)), in \(DurationText.format(whole)); \(clock.text)")
  }

  func run() throws -> ExitCode {
    defer { metricsServer?.stop() }
    try orStop { for host in hosts { try host.start() } }
    runner.start()
    let progress = RunProgress(
      console, on: runtime.loop, show: { [unowned self] in shown(in: $0) }, line: { [unowned self] in line(in: $0) })
    let isHidden = { [hosts] in hosts.contains { !$0.app.hiddenAccessories.isEmpty } }
    let isRefused = { [hosts] in hosts.contains { $0.refusals.refusal != nil } }
    _ = runtime.run(until: { runner.outcome != nil || isHidden() || isRefused() })
    progress.stop()
    if runner.outcome == nil {
      let refusal = hosts.lazy.compactMap(\.refusals.refusal).first?.sentence
      runner.stop(StopSignals.stopper ?? refusal ?? HostCommandContext.nothingVisible)
    }
    var report = runner.report
    report.isShard(output.shard, of: wholePlan)
    if let start, report.begun > 0 {
      report.start = BurstReport.Start(
        planned: start.planned, began: start.clock.microseconds(at: report.started), clockError: start.clock.error)
    }
    let wasHidden = isHidden()
    for host in hosts { host.stop() }
    runtime.settle(until: { hosts.allSatisfy(\.isUnplugged) })
    return conclude(report, isHidden: wasHidden)
  }

  // MARK: Progress

  private func shown(in period: Duration) -> (Double, String)? {
    guard runner.isRunning else { return nil }
    let progress = runner.progress
    defer { lastBytes = progress.bytes }
    return (
      progress.fraction,
      progress.text(recentBytes: progress.bytes - lastBytes, in: period, latency: runner.latency)
    )
  }

  private func line(in period: Duration) -> JSONObject? {
    guard runner.isRunning else { return nil }
    let progress = runner.progress
    defer { lastBytes = progress.bytes }
    var object = JSONObject(
      event: "progress", at: runtime.loop.now, side: .app,
      [
        "bursts": progress.bursts, "bytes": progress.bytes, "errors": progress.errors, "fraction": progress.fraction,
        "lost": progress.lost, "overdue": progress.overdue,
        "bytesPerSecond": Double(progress.bytes - lastBytes) / period.inSeconds,
      ])
    let latency = runner.latency
    for (name, percentile) in [("p50", 50.0), ("p99", 99)] where latency.total > 0 {
      object.add(name, latency.value(atPercentile: percentile))
    }
    return object
  }

  private func conclude(_ report: BurstReport, isHidden: Bool) -> ExitCode {
    var report = report
    output.compare(&report)
    // A run that reached no accessory must not overwrite the report of an earlier run.
    if report.begun > 0 { output.write(report) }
    let refusing = StopSignals.first == nil ? hosts.first { $0.refusals.refusal != nil } : nil
    let code = refusing != nil ? .refused : isHidden ? .unreachable : exitCode(report)
    if console.isJSON || report.begun > 0 {
      let summary = "\(report.headline): \(report.ending)"
      output.show(report, report.outcome, summary, text: report.text, at: runtime.loop.now)
    }
    if refusing?.refusals.explain(console) != true, report.begun == 0 {
      console.err("easim: \(explanation(report, isHidden))")
    }
    return code
  }

  private func explanation(_ report: BurstReport, _ isHidden: Bool) -> String {
    if isHidden { return HostCommandContext.nothingVisible }
    if let refusal = report.errors[.refused] { return refusal.first }
    return missing?.text ?? report.ending
  }

  /// The exit code and message if an accessory never became ready, or nil if the run ended for another reason.
  private var missing: (code: ExitCode, text: String)? {
    guard case .notReached = runner.outcome else { return nil }
    let pair = zip(hosts, runner.sites).first { host, site in !site.hasConnected && host.isMissing }
    return pair?.0.explanation(within: plan.timeout)
  }

  private func exitCode(_ report: BurstReport) -> ExitCode {
    switch runner.outcome {
    case .done, nil: break
    case .failed: return report.begun == 0 ? .usage : .checkFailed
    case .timedOut: return .timedOut
    case .gone: return .gone
    case .notReached: return missing?.code ?? .timedOut
    case .stopped: return .checkFailed
    }
    return report.outcome.isPassed ? .done : .checkFailed
  }
}

extension BurstProgress {
  /// Returns a line such as "183 bursts 2.40 MB/s p99 4.11 ms 0 errors 3 s left".
  func text(recentBytes: Int, in period: Duration, latency: Histogram) -> String {
    let rate = FixedText.rate(Double(recentBytes) / period.inSeconds)
    let left = timeLeft.map { "  \(Int($0.inSeconds.rounded(.up))) s left" } ?? ""
    let slow = latency.total > 0 ? "  p99 \(FixedText.time(Double(latency.value(atPercentile: 99))))" : ""
    let late = overdue > 0 ? "  \(overdue) overdue" : ""
    return "\(bursts) bursts  \(rate)\(slow)  \(errors) errors\(late)\(left)"
  }
}

/// A reading of this machine's clock, its estimated error, and the loop's clock, all taken at the same moment.
struct MachineClock {
  private let instant: Instant
  /// The time in microseconds since 1970.
  let microseconds: Int
  /// The maximum clock error in microseconds, as reported by the kernel, or nil if the clock is not synchronized.
  let error: Int?

  init(_ instant: Instant) {
    self.instant = instant
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    microseconds = max(0, time.tv_sec * 1_000_000 + time.tv_nsec / 1_000)
    var error: Int64 = 0
    self.error = clinux_clock_error(&error) == 0 && error >= 0 ? Int(error) : nil
  }

  func microseconds(at other: Instant) -> Int {
    max(0, microseconds + Int((other - instant).wholeNanoseconds / 1_000))
  }

  var text: String {
    guard let error else {
      return "this machine's clock is not synchronized (no NTP), so other machines may begin at other times"
    }
    return "this machine's clock is off by at most \(FixedText.time(Double(error) * 1_000))"
  }
}

extension BurstReport.Making {
  static var now: Self {
    var made = Self()
    made.program = Version.program
    made.command = String(CommandLine.arguments.map(\.shellWord).joined(separator: " ").prefix(4_000))
    made.date = StartTime.text(time(nil) * 1_000_000)
    var names = utsname()
    if uname(&names) == 0 {
      made.host = [text(&names.nodename), text(&names.sysname), text(&names.release), text(&names.machine)]
        .joined(separator: " ")
    }
    return made
  }

  private static func text<Field>(_ field: inout Field) -> String {
    withUnsafeBytes(of: &field) { String(terminated: $0) }
  }
}
