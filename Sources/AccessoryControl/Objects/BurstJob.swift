import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryLoad
import AccessorySessions

/// A load test in a world. A separate app on the world's device opens sessions with one accessory and sends bursts.
final class BurstJob: AppHandler {
  private let job: ControlledJob
  private let runner: BurstRunner
  private let site: BurstSite
  /// The serial number of the accessory to test, or nil for the first accessory that connects.
  private let serial: String?
  private var app: AppView?
  private var timer: LoopTimer?
  private static let period = Duration.milliseconds(100)
  private static let periodsPerProgress = 10
  private var periods = 0

  init(_ plan: BurstPlan, _ job: ControlledJob, with accessory: ControlledAccessory?) {
    self.job = job
    serial = accessory?.profile.identity.serialNumber
    let world = job.world
    runner = BurstRunner(plan, on: world.loop)
    site = runner.addSite(accessory?.id ?? "world \(world.id)")
    site.linkCounters = { [unowned world] in world.world.device.linkCounters }
    job.stop = { self.stop("job.cancel") }
    job.figures = { [runner] in Self.figures(runner.report) }
    let app = world.world.device.makeApp(self, settings: BurstRunner.appSettings())
    self.app = app
    runner.start()
    for accessory in app.accessories { accessoryDidConnect(accessory, app) }
    timer = world.loop.makeTimer { self.look() }
    timer?.arm(at: world.loop.now)
  }

  private func stop(_ why: String) {
    runner.stop(why)
    finish(isCancelled: true)
  }

  private func look() {
    if runner.outcome != nil { return finish(isCancelled: false) }
    timer?.arm(at: job.world.loop.now + Self.period)
    periods += 1
    if periods % Self.periodsPerProgress == 0 { job.progress(runner.progress.fraction) }
  }

  private func finish(isCancelled: Bool) {
    guard let app else { return }
    self.app = nil
    timer?.cancel()
    // Breaks a retain cycle: the timer retains this job.
    timer = nil
    let report = runner.report
    app.close("the load test is over")
    // Keeps this object alive until its sessions have ended, because they call it.
    job.world.loop.schedule(after: .seconds(5)) { withExtendedLifetime(self) {} }
    let figures = Self.figures(report)
    job.figures = { figures }
    job.world.server.bursts.add(report)
    let missed = report.checks.filter { !$0.passed }.map(\.line)
    let end = missed.isEmpty ? report.ending : missed.joined(separator: "; ")
    job.end(report, isCancelled: isCancelled, "\(report.headline): \(end)")
  }

  private static func figures(_ report: BurstReport) -> JSON5Value {
    func percentile(_ name: String, _ percentile: Double) -> JSON5Member {
      .init(name, .seconds(.nanoseconds(report.latency.value(atPercentile: percentile))))
    }
    return .object([
      .init("bursts", .number(report.completed)), .init("bytes", .number(report.bytes)),
      .init("errors", .number(report.errorCount)), .init("reconnections", .number(report.reconnections)),
      .init("seconds", .seconds(report.measured)),
      .init(
        "latency",
        .object([
          percentile("p50", 50), percentile("p95", 95), percentile("p99", 99),
          .init("maximum", .seconds(.nanoseconds(report.latency.maximum ?? 0))),
        ])),
    ])
  }

  // MARK: AppHandler

  private func isMine(_ accessory: PublishedAccessory) -> Bool { serial.map { $0 == accessory.serialNumber } ?? true }

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if isMine(accessory) { site.accessoryDidConnect(accessory, app) }
  }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if isMine(accessory) { site.accessoryDidDisconnect(accessory, app) }
  }
}

/// The totals of all load tests that a server has run, by accessory, for use in metrics.
struct BurstTallies {
  struct Tally {
    var bursts = 0
    var bytes = 0
    var errors = 0
    var latency = Histogram()
  }

  /// The maximum number of accessories with separate totals. All other accessories share a single set of totals.
  private static let most = 1_000
  private(set) var tallies: [String: Tally] = [:]

  mutating func add(_ report: BurstReport) {
    let name = report.sites.first?.serial ?? ""
    let serial = tallies[name] != nil || tallies.count < Self.most ? name : "others"
    var tally = tallies[serial] ?? Tally()
    tally.bursts += report.completed
    tally.bytes += report.bytes
    tally.errors += report.errorCount
    tally.latency.merge(report.latency)
    tallies[serial] = tally
  }
}
